import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { serverFor } from '../../../adapters/node-http/http-server.ts'

const requests = (count: number): string =>
  Array.from(
    { length: count },
    (_, i) => `GET /${i} HTTP/1.1\r\nhost: a\r\n${i === count - 1 ? 'connection: close\r\n' : ''}\r\n`,
  ).join('')

describe('pipelined requests', () => {
  test('are answered in their order, one at a time', async () => {
    let open = 0
    let most = 0
    const answer = (path: string, outgoing: ServerResponse): void => {
      most = Math.max(most, ++open)
      setTimeout(() => {
        open--
        outgoing.end(`<${path}>`)
      }, 5)
    }
    await withServer(answer, async client => {
      client.write(requests(10))
      const answers = (await text(client)).match(/<\/\d+>/g)
      expect(answers).toEqual(Array.from({ length: 10 }, (_, i) => `</${i}>`))
      expect(most).toBe(1)
    })
  })

  test('beyond the limit end their connection before they are handled', async () => {
    const begun: string[] = []
    await withServer(
      path => begun.push(path),
      async client => {
        client.on('error', () => undefined)
        client.write(requests(1_000))
        await once(client.resume(), 'close')
        expect(begun).toEqual(['/0'])
      },
    )
  })
})

async function withServer(
  answer: (path: string, outgoing: ServerResponse) => void,
  run: (client: Socket) => Promise<void>,
): Promise<void> {
  const server = serverFor((incoming, outgoing) => answer(incoming.url ?? '', outgoing))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  try {
    await run(client)
  } finally {
    client.destroy()
    server.close()
  }
}
