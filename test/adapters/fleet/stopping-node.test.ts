import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApiHandler, ApiResponse } from '../../../src/index.ts'
import { apiRequest } from '../../gateway/client.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { withFleet } from '../../support/fleet.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'

/** More than a node reads ahead. */
const BYTES = 40 * 1024 ** 2

const get = (handler: ApiHandler, path: string): Promise<ApiResponse> => handler(apiRequest('GET', path))

const partsOf = ({ body }: ApiResponse): AsyncIterator<Uint8Array> =>
  (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()

async function lengthOf(parts: AsyncIterator<Uint8Array>): Promise<number> {
  let length = 0
  for (let part = await parts.next(); part.done !== true; part = await parts.next()) length += part.value.length
  return length
}

describe('a node that stops', needsPostgres, () => {
  let postgres: SharedPostgres
  beforeAll(async () => {
    postgres = await sharedPostgres()
  })
  afterAll(() => postgres?.stop())

  test('waits for responses of other nodes that read from it', async () => {
    await withFleet(await postgres.migrated(), async ({ a, b, account }) => {
      const large = (await a.engine.pins.upload(pseudoRandom(BYTES, 'large'), { account })).record.cid
      const small = (await a.engine.pins.upload(Buffer.from('small'), { account })).record.cid
      const open = await get(b.engine.ownGateway, `/ipfs/${large}`)
      const parts = partsOf(open)
      const first = await parts.next()
      let isOver = false
      const ended = a.engine.readsEnded().then(() => {
        isOver = true
      })
      const last = a.engine.readsEnded({ isLast: true })
      const refused = await (async (): Promise<ApiResponse> => {
        for (;;) {
          const answer = await get(b.engine.ownGateway, `/ipfs/${small}`)
          if (answer.status !== 200) return answer
        }
      })()
      expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5'])
      expect(isOver).toBe(false)
      expect((first.value?.length ?? 0) + (await lengthOf(parts))).toBe(BYTES)
      await Promise.all([ended, last])
      await a.stop()
      await a.start()
      await expect.poll(async () => (await get(b.engine.ownGateway, `/ipfs/${small}`)).status).toBe(200)
    })
  })
})
