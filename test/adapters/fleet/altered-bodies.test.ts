import { type IncomingMessage, request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { carOf } from '../../content/car/support/cars.ts'
import { rawBlock } from '../../gateway/world.ts'
import { collect } from '../../support/bytes.ts'
import { type Fleet, withFleet } from '../../support/fleet.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'

interface Sent {
  path: string
  type: string
  body: Buffer
}

const form = (fields: string) => ({
  type: 'multipart/form-data; boundary=b',
  body: Buffer.from(`${fields}--b--\r\n`, 'latin1'),
})
const file = (name: string, content: string, field = 'file'): string =>
  `--b\r\nContent-Disposition: form-data; name="${field}"; filename="${name}"\r\n\r\n${content}\r\n`

describe('a body that arrives after its headers, for another node', needsPostgres, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  test('is stored as it was sent, or not at all', async () => {
    const [cid, bytes] = await rawBlock(Buffer.from('SENT bytes of a block'))
    const car = await carOf([cid], [{ cid, bytes }])
    const ordinary: Sent[] = [
      { path: '/files', ...form(file('f', 'SENT')) },
      { path: '/files/directory-dag', ...form(file('a/one', 'SENT', 'files') + file('a/two', 'more', 'files')) },
      { path: '/files/car', type: 'application/vnd.ipld.car', body: Buffer.from(car) },
      { path: '/files/car', ...form(file('c.car', Buffer.from(car).toString('latin1'))) },
      { path: `/files/pin/${cid}`, type: 'application/json', body: Buffer.from('{"customName":"SENT"}') },
      {
        path: '/files',
        ...form(
          `${file('f', `SENT ${'x'.repeat(100_000)}`)}--b\r\nContent-Disposition: form-data; name="cl"\r\n\r\nsecond\r\n`,
        ),
      },
    ]
    await withFleet(await server.migrated(), async fleet => {
      let isAltered = true
      // Somebody between the nodes changes bytes, and no length.
      fleet.b.server.prependListener('request', (incoming: IncomingMessage) => {
        if (!isAltered || incoming.headers['holdfast-passed-on'] === undefined) return
        const push = incoming.push.bind(incoming)
        incoming.push = (chunk: Buffer | null) =>
          push(chunk && Buffer.from(chunk.toString('latin1').replace('SENT', 'ELSE'), 'latin1'))
      })
      const roots = async () => (await fleet.b.engine.stats()).roots.complete.count
      for (const sent of ordinary) {
        expect([sent.path, await send(fleet, sent)]).toEqual([sent.path, { status: 503, code: 'UNAVAILABLE' }])
      }
      expect(await roots()).toBe(0)
      isAltered = false
      for (const sent of ordinary) {
        expect([sent.path, (await send(fleet, sent)).status]).toEqual([sent.path, expect.toBeOneOf([200, 201])])
      }
      // Four contents: the CAR arrives twice, and its block is pinned.
      expect(await roots()).toBe(4)
    })
  })

  /** Sends the headers, and the body only when the node has read them. */
  async function send({ a, key }: Fleet, { path, type, body }: Sent): Promise<{ status: number; code?: string }> {
    const headers = { 'x-api-key': key, 'content-type': type, 'content-length': body.length, expect: '100-continue' }
    const isLast = body.includes('name="cl"')
    const outgoing = request(`${a.url}/api/v3${path}`, {
      method: 'POST',
      headers: { ...headers, ...(!isLast && { 'x-cluster': 'second' }) },
    })
    outgoing.once('continue', () => outgoing.end(body))
    outgoing.flushHeaders()
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve).once('error', reject)
    })
    const { code } = JSON.parse((await collect(response)).toString())
    return { status: response.statusCode ?? 0, code }
  }
})
