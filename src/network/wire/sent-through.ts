import type { MessageStream } from '@libp2p/interface'

/** The same stream, except that what is sent on it goes through `send`. */
export function sentThrough(stream: MessageStream, send: MessageStream['send']): MessageStream {
  return new Proxy(stream, {
    get(target, name) {
      if (name === 'send') return send
      const value: unknown = Reflect.get(target, name, target)
      // Its methods know it as `this`; what it has of its own, such as its logger, is handed out as it is.
      return typeof value === 'function' && !Object.hasOwn(target, name) ? value.bind(target) : value
    },
  })
}
