import pg from 'pg'
import { expect, test } from 'vitest'
import { pseudoRandom } from '../../support/bytes.ts'
import { withFleet } from '../../support/fleet.ts'
import { needsPostgres, sharedPostgres } from '../../support/postgres-server.ts'

const TIMES = 20
/** Statements of 0.3.0 for the same requests. A delete now also reads how much deleted content the account keeps. */
const OF_0_3_0 = { upload: 10, remove: 17 }

/** Returns the statements of each run of some work, without those that came more rarely: these are of other work. */
async function statementsOf(work: (turn: number) => Promise<unknown>): Promise<number> {
  const counts = new Map<string, number>()
  const { query } = pg.Client.prototype
  const counting = function (this: pg.Client, ...given: unknown[]) {
    const [asked] = given as [string | { text: string }]
    const text = typeof asked === 'string' ? asked : asked.text
    counts.set(text, (counts.get(text) ?? 0) + 1)
    return Reflect.apply(query, this, given)
  }
  pg.Client.prototype.query = counting as typeof query
  try {
    for (let turn = 0; turn < TIMES; turn++) await work(turn)
  } finally {
    pg.Client.prototype.query = query
  }
  return [...counts.values()].reduce((sum, count) => sum + Math.floor(count / TIMES), 0)
}

test('one copy costs no more statements than 0.3.0', needsPostgres, async () => {
  const server = await sharedPostgres()
  try {
    // The clock of the nodes stands, so they send no heartbeats.
    await withFleet(await server.fresh(), async ({ a: { engine }, account }) => {
      const cids: string[] = []
      const upload = async (turn: number) => {
        const content = [pseudoRandom(900, `counted ${turn}`)]
        cids.push((await engine.pins.upload(content, { account, cluster: 'first' })).record.cid)
      }
      await upload(TIMES)
      const uploads = await statementsOf(upload)
      const removals = await statementsOf(turn => engine.pins.remove(cids[turn] ?? '', { account }))
      expect(uploads).toBeLessThanOrEqual(OF_0_3_0.upload)
      expect(removals).toBeLessThanOrEqual(OF_0_3_0.remove + 1)
      expect(Math.min(uploads, removals)).toBeGreaterThan(5)
    })
  } finally {
    await server.stop()
  }
})
