import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { silentLogger } from '../../../src/domain/logger.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { type Fleet, type FleetNode, withFleet } from '../../support/fleet.ts'
import { type NodeProcess, openNodeProcesses } from '../../support/fleet-processes.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'
import { filesIn } from '../../support/temp-dir.ts'

/** Another node reacts after a moment, or much later on a busy machine. */
const PATIENCE = { timeout: 80_000 }
/** More than one block. */
const LARGE = 1_500_000

describe('a database that was set back', { timeout: 120_000, ...needsPostgres }, () => {
  let server: TestPostgres
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server?.stop())

  const upload = async ({ account }: Fleet, node: FleetNode, name: string, bytes = 900): Promise<string> => {
    const cluster = node.id === 'a' ? 'first' : 'second'
    const content = [pseudoRandom(bytes, name)]
    return (await node.engine.pins.upload(content, { account, name, cluster })).record.cid
  }
  const whyNot = (node: FleetNode, options = {}): Promise<string> =>
    node.engine.reconcile(options).then(
      () => 'it ran',
      ({ message }: Error) => message,
    )
  const statusAt = async (url: string, cid: string): Promise<number> => {
    const answer = await fetch(`${url}/ipfs/${cid}`)
    await answer.arrayBuffer()
    return answer.status
  }
  const isRead = async (node: FleetNode, cid: string): Promise<boolean> => (await statusAt(node.url, cid)) === 200
  const roots = async (node: FleetNode): Promise<number> => (await node.engine.stats()).roots.complete.count

  test('loses nothing that some node has, and releases after all offered', async () => {
    const database = await server.fresh()
    await withFleet(database, async fleet => {
      const { a, b, account } = fleet
      const kept = [await upload(fleet, a, 'kept in first', LARGE), await upload(fleet, b, 'kept in second')]
      // The second node has the content of these records when the first has none.
      const moved = [await upload(fleet, a, 'in both'), await upload(fleet, a, 'later in second', LARGE)]
      await upload(fleet, b, 'in both')
      const removed = await upload(fleet, a, 'removed by the restored state')
      const setBack = await server.snapshot()
      await expect.poll(() => whyNot(a), PATIENCE).toBe('it ran')
      const remove = async (node: FleetNode, cid: string, cluster: string) =>
        await node.engine.pins.remove(cid, { account, cluster })
      for (const cid of moved) await remove(a, cid, 'first')
      await upload(fleet, b, 'later in second', LARGE)
      for (const node of [a, b]) await upload(fleet, node, `newer in ${node.id}`)
      await a.engine.collect({ graceSeconds: 0 })
      await Promise.all([a.stop(), b.stop()])
      await setBack()

      await a.start()
      for (const force of [false, true])
        await expect.poll(() => whyNot(a, { force }), PATIENCE).toMatch(/b may have content/)
      // Until the node has offered its content, it releases nothing, whatever is removed.
      await remove(a, removed, 'first')
      await b.start()
      for (const node of [a, b]) {
        await expect.poll(() => whyNot(node), PATIENCE).toMatch(/restored to an earlier point.*repeat with force/)
      }
      for (const cid of [...kept, ...moved]) await expect.poll(() => isRead(a, cid), PATIENCE).toBe(true)
      await expect
        .poll(async () => (await a.engine.reconcile({ dryRun: true })).found['record-lost'], PATIENCE)
        .toBeUndefined()
      const { items } = await a.engine.pins.list({ account })
      expect(items.map(({ status }) => status)).toEqual(items.map(() => 'pinned'))
      // Content of the lost records stays until the operator has answered.
      await expect.poll(async () => [await roots(a), await roots(b)], PATIENCE).toEqual([4, 4])

      for (const node of [a, b]) await node.engine.reconcile({ force: true })
      for (const node of [a, b]) {
        await node.engine.collect({ graceSeconds: 0 })
        expect((await node.engine.reconcile()).findings).toEqual([])
      }
      for (const cid of [...kept, ...moved]) expect([cid, await isRead(b, cid)]).toEqual([cid, true])
      expect([await roots(a), await roots(b)]).toEqual([3, 2])
      expect(await leftIn(database)).toEqual({ offers: 0, holds: 5 })
    })
  })

  test('an offer that cannot be read delays no other', async () => {
    const errors: string[] = []
    const logger = { ...silentLogger, error: (_: object, message: string) => void errors.push(message) }
    await withFleet(
      await server.fresh(),
      async fleet => {
        const { a, b, account } = fleet
        const [damaged, whole] = [await upload(fleet, a, 'damaged', LARGE), await upload(fleet, a, 'whole', LARGE)]
        const setBack = await server.snapshot()
        await upload(fleet, b, 'damaged', LARGE)
        const blocks = join(b.dataDir, 'blocks')
        const files = await filesIn(blocks)
        await upload(fleet, b, 'whole', LARGE)
        for (const cid of [damaged, whole]) await a.engine.pins.remove(cid, { account, cluster: 'first' })
        await a.engine.collect({ graceSeconds: 0 })
        await Promise.all([a.stop(), b.stop()])
        for (const file of files) await rm(join(blocks, file))
        await setBack()
        await Promise.all([a.start(), b.start()])
        const untaken = () => errors.filter(message => message.startsWith('offered'))
        await expect.poll(untaken, PATIENCE).toEqual(['offered content could not be taken; it is tried again'])
        await expect.poll(() => roots(a), PATIENCE).toBe(1)
        expect([await isRead(a, whole), await isRead(a, damaged)]).toEqual([true, false])
        // An upload of the content ends the offer.
        await upload(fleet, a, 'damaged', LARGE)
        expect(await isRead(a, damaged)).toBe(true)
        await expect.poll(() => leftIn(fleet.database), PATIENCE).toEqual({ offers: 0, holds: 2 })
      },
      { logger },
    )
  })

  test('an offer repairs content that is damaged on its node', async () => {
    await withFleet(await server.fresh(), async fleet => {
      const { a, b, account } = fleet
      const cid = await upload(fleet, a, 'damaged', LARGE)
      const setBack = await server.snapshot()
      await upload(fleet, b, 'damaged', LARGE)
      const blocks = join(a.dataDir, 'blocks')
      for (const file of await filesIn(blocks)) await rm(join(blocks, file))
      // The other node cannot repair the content before the set-back.
      await b.stop()
      expect((await a.engine.reconcile()).found).toMatchObject({ 'block-lost': 2 })
      await a.stop()
      await setBack()
      await Promise.all([a.start(), b.start()])
      for (const node of [a, b]) await expect.poll(() => whyNot(node), PATIENCE).toMatch(/repeat with force/)
      await expect.poll(() => leftIn(fleet.database), PATIENCE).toEqual({ offers: 0, holds: 1 })
      await b.engine.reconcile({ force: true })
      await b.engine.collect({ graceSeconds: 0 })
      await b.stop()
      // The hold is that of the fetch which the database has lost.
      expect((await a.engine.reconcile({ force: true })).found).toEqual({ 'hold-unwanted': 1 })
      expect((await a.engine.pins.list({ account, cid })).items).toMatchObject([{ status: 'pinned' }])
      expect(await isRead(a, cid)).toBe(true)
    })
  })

  test('a kill in the middle of offering or taking loses nothing', async () => {
    const database = await server.fresh()
    const { a, b, close } = await openNodeProcesses(database)
    const form = (name: string): FormData => {
      const made = new FormData()
      made.set('file', new Blob([pseudoRandom(70_000, name)]), name)
      return made
    }
    const send = async (node: NodeProcess, name: string, cluster: string): Promise<string> => {
      const headers = { 'x-cluster': cluster }
      const { status, json } = await node.call<{ cid: string }>('POST', '/api/v3/files', form(name), headers)
      expect(status).toBe(201)
      return json.cid
    }
    const names = Array.from({ length: 20 }, (_, i) => `content ${i}`)
    try {
      const cids = await Promise.all(names.map(name => send(a, name, 'first')))
      const setBack = await server.snapshot()
      await Promise.all(names.map(name => send(b, name, 'second')))
      for (const cid of cids) await a.call('DELETE', `/api/v3/files/remove/${cid}?cl=first`)
      await a.call('POST', '/admin/v1/gc', { graceSeconds: 0 })
      await Promise.all([a.kill(), b.kill()])
      await setBack()
      for (let round = 0; round < 3; round++) {
        await Promise.all([a.start(), b.start()])
        await sleep(round * 150)
        await Promise.all([a.kill(), b.kill()])
      }
      await Promise.all([a.start(), b.start()])
      const lost = async (): Promise<object> => {
        const { json } = await a.call<{ found: object }>('POST', '/admin/v1/reconcile', { dryRun: true })
        return json.found
      }
      await expect.poll(lost, PATIENCE).not.toHaveProperty('record-unheld')
      const ran = async () => (await a.call('POST', '/admin/v1/reconcile', { force: true })).status
      await expect.poll(ran, PATIENCE).toBe(200)
      await expect
        .poll(async () => (await b.call('POST', '/admin/v1/reconcile', { force: true })).status, PATIENCE)
        .toBe(200)
      for (const cid of cids) {
        await expect.poll(() => statusAt(a.gateway, cid), PATIENCE).toBe(200)
      }
      await expect.poll(() => leftIn(database), PATIENCE).toMatchObject({ offers: 0 })
      for (const node of [a, b]) await node.call('POST', '/admin/v1/gc', { graceSeconds: 0 })
      await b.kill()
      for (const cid of cids) expect([cid, await statusAt(a.gateway, cid)]).toEqual([cid, 200])
    } finally {
      await close()
    }
  })

  async function leftIn(url: string): Promise<object> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const text = 'SELECT (SELECT COUNT(*)::int FROM offers) AS offers, (SELECT COUNT(*)::int FROM holds) AS holds'
    const { rows } = await client.query(text)
    await client.end()
    return rows[0]
  }
})
