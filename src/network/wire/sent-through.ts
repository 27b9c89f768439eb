import type { MessageStream } from '@libp2p/interface'

export function sentThrough(stream: MessageStream, send: MessageStream['send']): MessageStream {
  return new Proxy(stream, {
    get(target, name) {
      if (name === 'send') return send
      const value: unknown = Reflect.get(target, name, target)
      // Methods need the stream as `this`. Functions in the stream's own properties, such as the logger, stay unbound.
      return typeof value === 'function' && !Object.hasOwn(target, name) ? value.bind(target) : value
    },
  })
}
