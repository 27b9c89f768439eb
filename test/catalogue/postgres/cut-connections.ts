import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** Between a client and PostgreSQL: passes everything on, until it is told to cut a connection. */
export interface Cutter {
  /** The URL by which the server is reached through this. */
  url: string
  /** Cuts the connection that has sent these words when it commits: before that arrives, or before the answer does. */
  cutCommitOf(words: string, when: 'before' | 'after'): void
  /** How often it has cut. */
  cuts(): number
  stop(): Promise<void>
}

export async function cutConnections(serverUrl: string): Promise<Cutter> {
  const target = new URL(serverUrl)
  const sockets = new Set<Socket>()
  let plan: { words: string; when: 'before' | 'after' } | null = null
  let count = 0
  const server = createServer(client => {
    const upstream = connect(Number(target.port), target.hostname)
    let isDeaf = false
    let isMeant = false
    const end = (): void => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', end).on('close', () => {
        sockets.delete(socket)
        end()
      })
    }
    client.on('data', bytes => {
      if (plan !== null && bytes.includes(plan.words)) isMeant = true
      const isCut = isMeant && plan !== null && bytes.includes('COMMIT')
      if (!isCut) return void upstream.write(bytes)
      const isBefore = plan?.when === 'before'
      plan = null
      count++
      if (isBefore) return end()
      isDeaf = true
      upstream.write(bytes)
    })
    upstream.on('data', bytes => {
      // It has answered, so what was asked for has happened.
      if (isDeaf) end()
      else client.write(bytes)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const url = new URL(serverUrl)
  url.port = String(typeof address === 'object' && address !== null ? address.port : 0)
  return {
    url: url.href,
    cutCommitOf(words, when) {
      plan = { words, when }
    },
    cuts: () => count,
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
