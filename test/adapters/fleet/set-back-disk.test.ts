import { cp, rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { silentLogger } from '../../../src/domain/logger.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { type Fleet, type FleetNode, withFleet } from '../../support/fleet.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'

/** The node reacts after a moment, or much later on a busy machine. */
const PATIENCE = { timeout: 80_000 }

describe('a disk that was set back within a run', { timeout: 240_000, ...needsPostgres }, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  const upload = async ({ account }: Fleet, node: FleetNode, name: string): Promise<string> => {
    const cluster = node.id === 'a' ? 'first' : 'second'
    return (await node.engine.pins.upload([pseudoRandom(70_000, name)], { account, name, cluster })).record.cid
  }
  /** Notes the disk of a node while it runs. Returns a function that sets it back. */
  const snapshot = async ({ dataDir }: FleetNode) => {
    await cp(dataDir, `${dataDir}-copy`, { recursive: true })
    return async () => {
      await rm(dataDir, { recursive: true })
      await cp(`${dataDir}-copy`, dataDir, { recursive: true })
    }
  }
  const again = async (node: FleetNode): Promise<void> => {
    await node.stop()
    await node.start()
  }

  test('is noticed at the start by its content, once', async () => {
    const problems: unknown[] = []
    const logger = { ...silentLogger, error: (fields: object) => void problems.push(fields) }
    await withFleet(
      await server.fresh(),
      async fleet => {
        const { a, b, account } = fleet
        const old = await upload(fleet, a, 'old')
        await Promise.all([a, b].map(again))
        const setBack = await snapshot(a)
        const lost = await upload(fleet, a, 'new')
        await upload(fleet, b, 'of the other node')
        expect(problems).toEqual([])
        await a.stop()
        await setBack()
        await a.start()
        const problem = 'the data directory lacks content of the newest records: its disk or the database was set back'
        expect(problems).toEqual([{ problem }])
        const whyNot = (): Promise<string> => a.engine.reconcile().then(String, ({ message }: Error) => message)
        await expect.poll(whyNot, PATIENCE).toContain(`${problem}: check with dryRun`)
        expect((await a.engine.reconcile({ force: true })).found).toEqual({ 'record-lost': 1 })
        const statusOf = async (cid: string) =>
          (await a.engine.pins.list({ account, cid })).items.map(one => one.status)
        expect([await statusOf(old), await statusOf(lost)]).toEqual([['pinned'], ['failed']])
        await again(a)
        expect(problems).toEqual([{ problem }])
        expect((await a.engine.reconcile()).findings).toEqual([])
      },
      { logger },
    )
  })
})
