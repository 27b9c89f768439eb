import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine } from '../../src/index.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../support/postgres-server.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'

describe('a PostgreSQL catalogue that was replaced', needsPostgres, () => {
  let server: TestPostgres
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server?.stop())

  const upload = ({ engine, account }: { engine: Engine; account: string }, text: string) =>
    engine.pins.upload([Buffer.from(text)], { account, name: text })

  /** Expects the reconciler to stop until it is forced, also after a restart. */
  const asksOnce = async (node: TestEngine, says: RegExp): Promise<void> => {
    for (const start of [async () => node.engine, () => node.restart()]) {
      const engine = await start()
      await expect(engine.reconcile()).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringMatching(says),
      })
      expect((await engine.reconcile({ dryRun: true })).dryRun).toBe(true)
    }
    await node.engine.reconcile({ force: true })
    expect((await node.engine.reconcile()).findings).toEqual([])
    expect((await (await node.restart()).reconcile()).findings).toEqual([])
  }

  test('by a standby: stops releases until the operator confirms', async () => {
    const database = await server.fresh()
    await withEngine(
      async node => {
        await upload(node, 'before')
        expect((await node.engine.reconcile()).findings).toEqual([])
        await server.takeOver()
        // A new connection checks the catalogue, so no restart is needed.
        await expect
          .poll(() => {
            node.clock.advance(400)
            return node.engine.reconcile().then(
              () => 'runs',
              ({ message }) => message,
            )
          })
          .toMatch(/timeline/)
        await asksOnce(node, /from timeline 00000001 to 00000002/)
        await upload(node, 'after')
        expect((await node.engine.pins.list({ account: node.account })).total).toBe(2)
      },
      { database },
    )
  })

  test('by an earlier state: keeps all holds and reuses no hold number', async () => {
    const database = await server.fresh()
    await withEngine(
      async node => {
        await upload(node, 'kept')
        const setBack = await server.snapshot()
        for (let i = 0; i < 5; i++) await upload(node, `lost ${i}`)
        await node.engine.stop()
        await setBack()
        await node.restart()
        expect((await node.engine.pins.list({ account: node.account })).total).toBe(1)
        const { roots } = await node.engine.stats()
        expect(roots.complete.count).toBe(6)
        for (let i = 0; i < 5; i++) await upload(node, `new ${i}`)
        expect((await node.engine.stats()).roots.complete.count).toBe(11)
        expect((await node.engine.reconcile({ dryRun: true })).found['hold-unwanted']).toBe(5)
        await asksOnce(node, /restored to an earlier point/)
        expect((await node.engine.stats()).roots.complete.count).toBe(6)
        expect((await node.engine.pins.list({ account: node.account })).total).toBe(6)
      },
      { database },
    )
  })
})
