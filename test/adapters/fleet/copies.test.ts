import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { systemClock } from '../../../src/domain/clock.ts'
import { SCOPES } from '../../../src/index.ts'
import { settled } from '../../../src/testing/index.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { type FleetNode, openFleet } from '../../support/fleet.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'
import { filesIn } from '../../support/temp-dir.ts'

const CLUSTER = { id: 'main', label: '', region: '', country: null, gateways: [], nodes: ['a', 'b', 'c'], copies: 2 }
const SINGLE = { ...CLUSTER, id: 'single', copies: 1 }
/** Another node reacts after a moment, or much later on a busy machine. */
const PATIENCE = { timeout: 60_000 }
/** More than one block. */
const LARGE = 3_500_000

describe('copies between nodes', { timeout: 120_000, ...needsPostgres }, () => {
  let server: TestPostgres
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server?.stop())

  interface Copied {
    database: string
    nodes: FleetNode[]
    account: string
    /** Resolves when all copies are made. */
    done: () => Promise<void>
  }
  const withCopies = async (run: (fleet: Copied) => Promise<void>, cluster = { ...CLUSTER }) => {
    const database = await server.fresh()
    const config = { database, clusters: [cluster, SINGLE], defaultCluster: 'main', clock: systemClock }
    const { a, nodes, close } = await openFleet(config, 3)
    try {
      const { id: account } = await a.engine.accounts.create({ email: 'one@example.org', plan: 'unlimited' })
      await run({ database, nodes, account, done: () => settled(nodes.map(({ engine }) => engine)) })
    } finally {
      await close()
    }
  }
  const upload = async ({ nodes, account }: Copied, name: string, bytes = 900) =>
    (await nodes[0]?.engine.pins.upload([pseudoRandom(bytes, name)], { account, name }))?.record ?? never()
  const never = (): never => {
    throw new Error('it is not there')
  }
  const statusOf = async ({ account }: Copied, { engine }: FleetNode, cid: string) =>
    (await engine.pins.status({ account, cid }))[0]?.record.status
  const read = async (node: FleetNode, cid: string): Promise<[number, number]> => {
    const answer = await fetch(`${node.url}/ipfs/${cid}`)
    return [answer.status, (await answer.arrayBuffer()).byteLength]
  }

  test('each content is readable while its first node is away', async () => {
    await withCopies(async fleet => {
      const [a, ...others] = fleet.nodes
      const small = await upload(fleet, 'small')
      const large = await upload(fleet, 'large', LARGE)
      await fleet.done()
      await a?.stop()
      for (const node of others) {
        expect(await read(node, small.cid)).toEqual([200, 900])
        expect(await read(node, large.cid)).toEqual([200, LARGE])
      }
      await a?.start()
      await a?.engine.pins.remove(small.cid, { account: fleet.account })
      await fleet.done()
      for (const node of fleet.nodes) expect((await read(node, small.cid))[0]).toBe(404)
    })
  })

  test('a lost node leaves its records pinned, and another copy is made', async () => {
    const cluster = { ...CLUSTER }
    await withCopies(async fleet => {
      const [a, b, c] = fleet.nodes as [FleetNode, FleetNode, FleetNode]
      const { cid } = await upload(fleet, 'large', LARGE)
      await fleet.done()
      await a.stop()
      await b.engine.nodes.forget('a', { isReplaced: true })
      const others = [b, c]
      await expect
        .poll(async () => (await b.engine.nodes.list()).map(({ id, state, records }) => [id, state, records]), PATIENCE)
        .toContainEqual(['a', 'forgotten', 0])
      await settled(others.map(({ engine }) => engine))
      expect(await statusOf(fleet, b, cid)).toBe('pinned')
      for (const node of others) {
        await node.stop()
        const other = node === b ? c : b
        expect(await read(other, cid)).toEqual([200, LARGE])
        await node.start()
      }
    }, cluster)
  })

  test('fewer copies are released, once all nodes name fewer', async () => {
    const cluster = { ...CLUSTER, copies: 3 }
    await withCopies(async fleet => {
      const { cid } = await upload(fleet, 'large', LARGE)
      await fleet.done()
      const whole = async () => {
        for (const { engine } of fleet.nodes) await engine.collect({ graceSeconds: 0 })
        const files = await Promise.all(fleet.nodes.map(({ dataDir }) => filesIn(join(dataDir, 'blocks'))))
        return files.filter(some => some.some(file => file.endsWith('.data'))).length
      }
      expect(await whole()).toBe(3)
      cluster.copies = 2
      for (const node of fleet.nodes) {
        await node.stop()
        await node.start()
      }
      await fleet.done()
      await expect.poll(whole, PATIENCE).toBe(2)
      for (const node of fleet.nodes) expect(await read(node, cid)).toEqual([200, LARGE])
    }, cluster)
  })

  test('a copy repairs a damaged block, and the record stays pinned', async () => {
    await withCopies(async fleet => {
      const [a] = fleet.nodes as [FleetNode]
      const { cid } = await upload(fleet, 'large', LARGE)
      await fleet.done()
      const statuses: string[] = []
      a.engine.events.on('pin:status', ({ record }) => statuses.push(record.status))
      const files = (await filesIn(join(a.dataDir, 'blocks'))).filter(file => file.endsWith('.data'))
      await rm(join(a.dataDir, 'blocks', files[0] ?? ''))
      await a.engine.reconcile()
      expect((await a.engine.verify()).damaged).toEqual([])
      expect([statuses, await statusOf(fleet, a, cid)]).toEqual([[], 'pinned'])
      expect(await read(a, cid)).toEqual([200, LARGE])
    })
  })

  test('a change of the visibility keeps the only sound blocks', async () => {
    await withCopies(async fleet => {
      const [a, ...others] = fleet.nodes as [FleetNode, FleetNode, FleetNode]
      const { cid, uploadId } = await upload(fleet, 'large', LARGE)
      await fleet.done()
      const files = (await filesIn(join(a.dataDir, 'blocks'))).filter(file => file.endsWith('.data'))
      await rm(join(a.dataDir, 'blocks', files[0] ?? ''))
      await a.engine.pins.setVisibility({ account: fleet.account, uploadId, visibility: 'private' })
      await fleet.done()
      for (const { engine } of others) await engine.collect({ graceSeconds: 0 })
      expect((await a.engine.reconcile()).found).toEqual({ 'block-lost': 1 })
      await fleet.done()
      expect((await a.engine.verify()).damaged).toEqual([])
      expect(await statusOf(fleet, a, cid)).toBe('pinned')
    })
  })

  test('a damaged block waits for an absent node with a copy', async () => {
    await withCopies(async fleet => {
      const [a, ...others] = fleet.nodes as [FleetNode, FleetNode, FleetNode]
      const { cid } = await upload(fleet, 'large', LARGE)
      await fleet.done()
      for (const node of others) await node.stop()
      const files = (await filesIn(join(a.dataDir, 'blocks'))).filter(file => file.endsWith('.data'))
      await rm(join(a.dataDir, 'blocks', files[0] ?? ''))
      await a.engine.reconcile()
      expect(await statusOf(fleet, a, cid)).toBe('pinned')
      for (const node of others) await node.start()
      await expect.poll(async () => (await a.engine.verify()).damaged, PATIENCE).toEqual([])
      expect([await statusOf(fleet, a, cid), await read(a, cid)]).toEqual(['pinned', [200, LARGE]])
    })
  })

  test('an upload goes to the next node while the first is away', async () => {
    await withCopies(async fleet => {
      const [a, b, c] = fleet.nodes as [FleetNode, FleetNode, FleetNode]
      const { secret } = await a.engine.keys.create(fleet.account, { name: 'all', scopes: SCOPES })
      const send = async (node: FleetNode, name: string, cl?: string) => {
        const body = new FormData()
        body.append('file', new Blob([Buffer.from(pseudoRandom(900, name))]), name)
        // Behind the file, the cluster is known only at the end.
        if (cl !== undefined) body.append('cl', cl)
        const request = { method: 'POST', headers: { 'x-api-key': secret }, body }
        const answer = await fetch(`${node.url}/api/v3/files`, request)
        return { ...((await answer.json()) as { cid: string; copies: unknown }), code: answer.status }
      }
      expect(await send(c, 'before')).toMatchObject({ code: 201, copies: { wanted: 2, have: 1 } })
      expect(await send(c, 'before')).not.toHaveProperty('copies')
      expect(await send(c, 'of one node', 'single')).not.toHaveProperty('copies')
      await fleet.done()
      await a.stop()
      await expect.poll(async () => (await send(c, 'while away')).code, PATIENCE).toBeLessThan(300)
      const { cid, code } = await send(b, 'another', 'main')
      expect(code).toBe(201)
      const owned = await b.engine.nodes.list()
      expect(owned.map(({ id, records }) => [id, records])).toEqual(expect.arrayContaining([['b', 2]]))
      await a.start()
      await fleet.done()
      await b.stop()
      expect(await read(a, cid)).toEqual([200, 900])
      expect(await statusOf(fleet, a, cid)).toBe('pinned')
      await b.start()
      await a.engine.pins.remove(cid, { account: fleet.account })
      await fleet.done()
      for (const node of fleet.nodes) expect((await read(node, cid))[0]).toBe(404)
    })
  })

  test('a node that refuses connections makes no upload fail', async () => {
    await withCopies(async fleet => {
      const [a, b, c] = fleet.nodes as [FleetNode, FleetNode, FleetNode]
      const { secret } = await a.engine.keys.create(fleet.account, { name: 'all', scopes: SCOPES })
      const send = async (node: FleetNode, name: string, bytes: number, cl?: string) => {
        const body = new FormData()
        body.append('file', new Blob([Buffer.from(pseudoRandom(bytes, name))]), name)
        if (cl !== undefined) body.append('cl', cl)
        const answer = await fetch(`${node.url}/api/v3/files`, {
          method: 'POST',
          headers: { 'x-api-key': secret },
          body,
        })
        return answer.status
      }
      await fleet.done()
      // As a node that starts: its heartbeat has come, and it does not listen yet.
      a.server.closeAllConnections()
      a.server.close()
      expect((await c.engine.nodes.list()).find(({ id }) => id === 'a')?.isThere).toBe(true)
      for (const node of [b, c]) {
        expect(await send(node, `small at ${node.id}`, 900)).toBe(201)
        expect(await send(node, `large at ${node.id}`, LARGE)).toBe(201)
        expect(await send(node, `named late at ${node.id}`, LARGE, 'main')).toBe(201)
      }
      a.server.listen(Number(new URL(a.url).port), '127.0.0.1')
      await once(a.server, 'listening')
    })
  })

  test('the nodes of content are listed, and not from memory', async () => {
    await withCopies(async fleet => {
      const [a, b] = fleet.nodes as [FleetNode, FleetNode]
      const { secret } = await a.engine.keys.create(fleet.account, { name: 'all', scopes: SCOPES })
      const { cid } = await upload(fleet, 'small')
      await fleet.done()
      const shown = async () => {
        const answer = await fetch(`${b.url}/api/v3/allocations/${cid}`, { headers: { 'x-api-key': secret } })
        type Shown = { replication_factor: number; allocations: { peer: string; status: string; error: unknown }[] }
        const { replication_factor, allocations } = (await answer.json()) as Shown
        return [replication_factor, ...allocations.map(({ peer, status, error }) => [peer, status, error])]
      }
      const [count, first, second, third] = await shown()
      expect([count, first, second]).toEqual([2, ['main', 'pinned', null], ['a', 'pinned', null]])
      const [other] = third as [string]
      expect(third).toEqual([other, 'pinned', null])
      const keeper = other === 'b' ? b : (fleet.nodes[2] as FleetNode)
      const states = { have: 1, wanted: 0, damaged: 0, surplus: 0, going: 0 }
      // Counts are up to ten seconds old.
      await expect
        .poll(async () => (await keeper.engine.stats()).copies, PATIENCE)
        .toEqual({ states, waitsSince: null, reason: null })
      const database = await Postgres.open({ url: fleet.database, connections: 1 })
      const later = Number.MAX_SAFE_INTEGER
      await database.command(`UPDATE copies SET state = 'wanted', due_at = ${later}, last_error = 'full'`, [])
      await database.close()
      expect(await shown()).toEqual([1, first, second, [other, 'queued', 'full']])
    })
  })

  test('a node that is cut off delays a read by a second', async () => {
    await withCopies(async fleet => {
      const [a, ...others] = fleet.nodes as [FleetNode, FleetNode, FleetNode]
      const content = [{ kind: 'file' as const, path: 'page.html', content: pseudoRandom(900, 'page') }]
      const made = await a.engine.pins.uploadDirectory(content, { account: fleet.account })
      const [file] = made.files
      await fleet.done()
      a.isSilent = true
      for (const node of others) {
        for (const cid of [made.record.cid, file?.cid ?? '']) {
          const since = performance.now()
          const answer = await fetch(`${node.url}/ipfs/${cid}?format=raw`, { signal: AbortSignal.timeout(60_000) })
          expect([answer.status, (await answer.arrayBuffer()).byteLength > 0]).toEqual([200, true])
          // A busy machine needs more than the second.
          expect(performance.now() - since).toBeLessThan(8_000)
        }
      }
      a.isSilent = false
    })
  })

  test('a response goes on with another node when its node ends', async () => {
    await withCopies(async fleet => {
      const [a, ...others] = fleet.nodes
      const { cid } = await upload(fleet, 'large', LARGE * 6)
      await fleet.done()
      const answers = await Promise.all(others.map(({ url }) => fetch(`${url}/ipfs/${cid}`)))
      a?.server.closeAllConnections()
      await a?.stop()
      const bytes = await Promise.all(answers.map(async answer => Buffer.from(await answer.arrayBuffer())))
      for (const one of bytes) expect(one.equals(pseudoRandom(LARGE * 6, 'large'))).toBe(true)
      await a?.start()
    })
  })
})
