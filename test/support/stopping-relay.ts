import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Forwards connections to a port. It can stop without a word, as a network that drops packets does. */
export interface StoppingRelay {
  url: string
  /** Forwards nothing any more, or goes on. Connections stay open. */
  isStopped: boolean
  stop(): void
}

export async function openRelay(target: string): Promise<StoppingRelay> {
  const { hostname, port } = new URL(target)
  const open = new Set<Socket>()
  const server = createServer(client => {
    const upstream = connect(Number(port), hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from)
      from.on('data', bytes => relay.isStopped || to.write(bytes))
      from.on('error', () => to.destroy())
      from.on('end', () => relay.isStopped || to.end())
      from.on('close', () => open.delete(from))
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const relay: StoppingRelay = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isStopped: false,
    stop() {
      server.close()
      for (const socket of open) socket.destroy()
    },
  }
  return relay
}
