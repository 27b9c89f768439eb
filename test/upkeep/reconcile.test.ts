import { readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createEngine, type Reconciled, restoreBackup } from '../../src/index.ts'
import { settled } from '../../src/testing/index.ts'
import { statusOf as remoteStatus, until, withTwoNodes } from '../clusters/remote-support.ts'
import { randomFile } from '../pins/fetches/support/dags.ts'
import { withNet } from '../pins/fetches/support/net.ts'
import { blockFileOf } from '../support/block-place.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { rawCid } from '../support/content-parts.ts'
import { newDirectory } from '../support/new-database.ts'
import { viaGateway } from '../support/read-back.ts'
import { EMPTY, storeSizes, withDatabase } from '../support/store-inspection.ts'
import { filesIn, withTempDir } from '../support/temp-dir.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'
import { turnsDuring } from '../support/turns-during.ts'

const LARGE = 2_500_000

async function uploaded({ engine, account }: TestEngine, size: number, seed: string): Promise<string> {
  return (await engine.pins.upload(pseudoRandom(size, seed), { account })).record.cid
}

async function someBlockFile(dataDir: string): Promise<string> {
  const [first = ''] = await filesIn(join(dataDir, 'blocks'))
  return join(dataDir, 'blocks', first)
}

async function statusOf({ engine, account }: TestEngine, cid: string) {
  const [progress] = await engine.pins.status({ account, cid })
  return { status: progress?.record.status, reason: progress?.reason }
}

function change(dataDir: string, sql: string): void {
  withDatabase(dataDir, db => db.prepare(sql).run())
}

/** Runs a dry run, a repair and another dry run. Returns the findings of each. */
async function mended({ engine }: Pick<TestEngine, 'engine'>, force = false): Promise<Reconciled['found'][]> {
  const looked = await engine.reconcile({ dryRun: true })
  const { found } = await engine.reconcile({ force })
  return [looked.found, found, (await engine.reconcile({ dryRun: true })).found]
}

describe('a reconciliation', () => {
  test('checks a sound store completely and finds nothing', async () => {
    await withEngine(async test => {
      for (const size of [100, 40_000, LARGE]) await uploaded(test, size, 'whole')
      const { found, findings, seen } = await test.engine.reconcile()
      expect([found, findings]).toEqual([{}, []])
      expect(seen).toMatchObject({ holds: 3, roots: 3, records: 3, blocks: 6 })
      expect(await mended(test)).toEqual([{}, {}, {}])
    })
  })

  test('refuses to release much, and with force releases unwanted items', async () => {
    await withEngine(async test => {
      const { engine, dataDir } = test
      const kept = await uploaded(test, LARGE, 'kept')
      const gone = await uploaded(test, 40_000, 'gone')
      change(dataDir, `DELETE FROM records WHERE cid = '${gone}'`)
      expect((await engine.reconcile({ dryRun: true })).found).toEqual({ 'hold-unwanted': 1, 'usage-wrong': 1 })
      await expect(engine.reconcile()).rejects.toMatchObject({ code: 'CONFLICT' })
      expect((await viaGateway(engine, `/ipfs/${gone}`)).status).toBe(200)
      expect((await engine.reconcile({ force: true })).found).toEqual({ 'hold-unwanted': 1, 'usage-wrong': 1 })
      expect((await viaGateway(engine, `/ipfs/${gone}`)).status).toBe(404)
      expect((await viaGateway(engine, `/ipfs/${kept}`)).status).toBe(200)
      await engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(dataDir)).toMatchObject({ roots: 1, blockFiles: 3 })
    })
  })

  test('releases one in a hundred without force, and never unknown holds', async () => {
    await withEngine(async test => {
      const { dataDir } = test
      const cids: string[] = []
      for (let i = 0; i < 100; i++) cids.push(await uploaded(test, 20, `one of many ${i}`))
      change(dataDir, `DELETE FROM records WHERE cid = '${cids[50]}'`)
      change(dataDir, `INSERT INTO holds SELECT 'of another', root_id, ends FROM holds LIMIT 1`)
      const found = { 'hold-unwanted': 1, 'usage-wrong': 1 }
      expect(await mended(test)).toEqual([found, found, {}])
      expect(withDatabase(dataDir, db => db.prepare(`SELECT 1 FROM holds WHERE id = 'of another'`).get())).toBeDefined()
    })
  })

  test('holds wanted content again, and drops unwanted content', async () => {
    await withEngine(async test => {
      const { engine, dataDir } = test
      const cid = await uploaded(test, 40_000, 'unheld')
      change(dataDir, 'DELETE FROM holds')
      expect((await engine.reconcile()).found).toEqual({ 'record-unheld': 1 })
      await engine.collect({ graceSeconds: 0 })
      expect((await viaGateway(engine, `/ipfs/${cid}`)).status).toBe(200)
      change(dataDir, 'DELETE FROM holds')
      change(dataDir, 'DELETE FROM records')
      expect((await mended(test, true)).at(-1)).toEqual({})
      await engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(dataDir)).toEqual(EMPTY)
    })
  })

  test('moves holds from other content back to the records', async () => {
    await withEngine(async test => {
      for (const size of [40_000, 50_000]) await uploaded(test, size, 'held')
      change(test.dataDir, 'UPDATE holds SET root_id = (SELECT MIN(id) FROM roots)')
      expect((await test.engine.reconcile()).found).toEqual({ 'record-unheld': 1 })
      expect((await test.engine.reconcile()).found).toEqual({})
    })
  })

  test('finds a block with missing or truncated bytes in the database', async () => {
    await withEngine(async test => {
      for (const seed of ['missing', 'cut off']) await uploaded(test, 100, seed)
      change(test.dataDir, 'DELETE FROM small_blocks WHERE block_id = (SELECT MIN(id) FROM blocks)')
      change(test.dataDir, 'UPDATE small_blocks SET bytes = substr(bytes, 1, 7)')
      const { findings } = await test.engine.reconcile({ dryRun: true })
      expect(findings.map(({ detail }) => detail)).toEqual(['is missing', 'has 7 of 100 bytes'])
    })
  })

  test('makes pins with a lost root wait, and gives them local content', async () => {
    await withEngine(async test => {
      const { engine, dataDir, account } = test
      const cid = await uploaded(test, 40_000, 'rootless')
      const before = await engine.pins.usage(account)
      change(dataDir, 'DELETE FROM holds')
      change(dataDir, "UPDATE roots SET state = 'dropped'")
      await expect(engine.reconcile()).rejects.toMatchObject({ code: 'CONFLICT' })
      expect(await statusOf(test, cid)).toMatchObject({ status: 'pinned' })
      expect((await engine.reconcile({ force: true })).found).toEqual({ 'record-lost': 1 })
      expect(await statusOf(test, cid)).toMatchObject({ status: 'pinning' })
      expect((await engine.pins.usage(account)).storedBytes).toBe(0)
      await uploaded(test, 40_000, 'rootless')
      expect(await statusOf(test, cid)).toMatchObject({ status: 'pinned' })
      expect(await engine.pins.usage(account)).toEqual(before)
      expect((await engine.reconcile()).found).toEqual({})
    })
  })

  test.each([
    ['missing', rm, 'is missing'],
    ['too short', (file: string) => truncate(file, 7), 'has 7 of'],
  ])('finds a file that is %s; the same content repairs it', async (_, damage, reason) => {
    await withEngine(async test => {
      const { engine, dataDir, account } = test
      const cid = await uploaded(test, LARGE, 'damaged')
      const { storedBytes } = await engine.pins.usage(account)
      await damage(await someBlockFile(dataDir))
      expect(await mended(test)).toEqual([{ 'block-lost': 1 }, { 'block-lost': 1 }, { 'block-lost': 1 }])
      const now = await statusOf(test, cid)
      expect(now.status).toBe('pinning')
      expect(now.reason).toContain(reason)
      expect((await engine.verify()).damaged.map(({ roots }) => roots)).toEqual([[cid]])
      expect((await engine.pins.usage(account)).storedBytes).toBe(0)
      // Record of another account, so that it waits until the next check.
      await engine.pins.upload(pseudoRandom(LARGE, 'damaged'), { account: await test.newAccount() })
      expect(await mended(test)).toEqual([{ 'record-whole': 1 }, { 'record-whole': 1, 'fetch-unwanted': 1 }, {}])
      expect(await statusOf(test, cid)).toMatchObject({ status: 'pinned' })
      expect((await engine.verify()).damaged).toEqual([])
      expect((await engine.pins.usage(account)).storedBytes).toBe(storedBytes)
      await engine.pins.remove({ account, cid })
      expect((await engine.reconcile()).found).toEqual({})
    })
  })

  test("cuts off trailing bytes of a block's file", async () => {
    await withEngine(async test => {
      const cid = await uploaded(test, LARGE, 'longer')
      await writeFile(await someBlockFile(test.dataDir), 'more', { flag: 'a' })
      expect(await mended(test)).toEqual([{ 'block-lost': 1 }, { 'block-lost': 1 }, {}])
      expect(await statusOf(test, cid)).toMatchObject({ status: 'pinned' })
    })
  })

  test('finds a row of the database without its bytes', async () => {
    await withEngine(async test => {
      const cid = await uploaded(test, 100, 'small')
      change(test.dataDir, 'DELETE FROM small_blocks')
      expect((await test.engine.reconcile()).found).toEqual({ 'block-lost': 1 })
      await uploaded(test, 100, 'small')
      expect(await statusOf(test, cid)).toMatchObject({ status: 'pinned' })
      expect((await test.engine.verify()).damaged).toEqual([])
      expect((await test.engine.reconcile()).found).toEqual({})
    })
  })

  test('removes stray block files, and leaves other files alone', async () => {
    await withEngine(async test => {
      const { dataDir } = test
      await uploaded(test, LARGE, 'beside')
      const bytes = pseudoRandom(50_000, 'unknown')
      await writeFile(join(dataDir, 'blocks', blockFileOf(await rawCid(bytes))), bytes)
      await writeFile(join(dataDir, 'blocks', 'AA', 'notes.data'), 'of somebody')
      expect(await mended(test)).toEqual([{ 'file-unknown': 1 }, { 'file-unknown': 1 }, {}])
      expect(await storeSizes(dataDir)).toMatchObject({ blockFiles: 4 })
      expect(await readdir(join(dataDir, 'blocks', 'AA'))).toContain('notes.data')
    })
  })

  test('ends waits without a fetch, and fetches without a wait', async () => {
    await withEngine(async test => {
      const { dataDir } = test
      const cid = await uploaded(test, 40_000, 'waits')
      change(dataDir, "UPDATE records SET status = 'pinning', root_id = NULL")
      change(dataDir, 'DELETE FROM holds')
      change(
        dataDir,
        `INSERT INTO fetches (backend_id, codec, multihash, root_id, origins) VALUES (0, 85, x'00', 99, '[]')`,
      )
      expect((await test.engine.reconcile({ force: true })).found).toMatchObject({
        'record-unfetched': 1,
        'fetch-unwanted': 1,
      })
      expect(withDatabase(dataDir, db => db.prepare('SELECT root_id FROM fetches').all()).length).toBe(1)
      expect(await statusOf(test, cid)).toMatchObject({ status: 'pinning' })
    })
  })

  test('gives the loop back during a pass over many items', async () => {
    await withEngine(async test => {
      const { engine, account } = test
      const entries = async function* () {
        for (let i = 0; i < 2_000; i++)
          yield { kind: 'file' as const, path: `${i}`, content: Buffer.from(`entry ${i}`) }
      }
      await engine.pins.uploadDirectory(entries(), { account })
      const { result, turns } = await turnsDuring(() => engine.reconcile())
      expect(result.seen.blocks).toBeGreaterThan(2_000)
      expect(turns).toBeGreaterThan(10)
    })
  })

  test('recounts the usage of accounts', async () => {
    await withEngine(async test => {
      const { engine, account, clock, dataDir } = test
      const cid = await uploaded(test, LARGE, 'counted')
      await engine.pins.upload(pseudoRandom(LARGE, 'counted'), {
        account,
        timelock: new Date(clock.now() + 60_000).toISOString(),
      })
      await uploaded(test, 100, 'counted')
      const other = await test.newAccount()
      const usage = await engine.pins.usage(account)
      change(dataDir, `UPDATE accounts SET pins = 7, expiring_pins = 0, stored_bytes = 1 WHERE id = '${account}'`)
      const { findings, seen } = await engine.reconcile({ dryRun: true })
      const detail = `pins: 7 stored, 3 counted, expiringPins: 0 stored, 1 counted, storedBytes: 1 stored, ${usage.storedBytes} counted`
      expect(findings).toEqual([{ kind: 'usage-wrong', what: account, detail }])
      expect(seen.accounts).toBe(2)
      expect(await mended(test)).toEqual([{ 'usage-wrong': 1 }, { 'usage-wrong': 1 }, {}])
      expect(await engine.pins.usage(account)).toEqual(usage)
      await engine.pins.remove({ account, cid })
      expect(await engine.pins.usage(account)).toMatchObject({ pins: 1, storedBytes: 512 })
      expect((await engine.pins.usage(other)).pins).toBe(0)
    })
  })

  test('runs once at a time, and ends with its signal', async () => {
    await withEngine(async test => {
      for (let i = 0; i < 100; i++) await uploaded(test, 20, `ends ${i}`)
      const first = test.engine.reconcile()
      await expect(test.engine.reconcile()).rejects.toMatchObject({ code: 'CONFLICT' })
      await first
      const stop = new AbortController()
      const onProgress = () => stop.abort(new Error('enough'))
      await expect(test.engine.reconcile({ signal: stop.signal, onProgress })).rejects.toThrow('enough')
      await test.engine.reconcile()
    })
  })

  test('ends when the engine announces its stop', async () => {
    await withEngine(async test => {
      for (let i = 0; i < 100; i++) await uploaded(test, 20, `stop ${i}`)
      let steps = 0
      const onProgress = (): void => {
        if (steps++ === 0) void test.engine.announceStop()
      }
      const ended = { code: 'ABORTED', message: 'the node is stopping' }
      await expect(test.engine.reconcile({ dryRun: true, onProgress })).rejects.toMatchObject(ended)
      expect(steps).toBe(1)
      await uploaded(test, 20, 'others continue')
    })
  })
})

describe('content of another node', () => {
  test('is left alone, with or without a copy, and while pending', async () => {
    await withTwoNodes(async nodes => {
      const { account, there } = nodes
      const { record } = await nodes.here.pins.upload(pseudoRandom(LARGE, 'elsewhere'), { account, cluster: 'far' })
      expect((await nodes.here.reconcile()).found).toEqual({})
      await until('it is pinned', async () => (await remoteStatus(nodes, record.cid)) === 'pinned')
      const blocks = join(nodes.dir, 'here', 'clusters', 'far', 'blocks')
      await until('nothing of it is on this disk', async () => {
        await nodes.here.reconcile({ onlyClusters: true })
        await nodes.here.collect()
        return (await filesIn(blocks)).length === 0
      })
      const { found, seen } = await nodes.here.reconcile()
      expect(found).toEqual({})
      expect(seen.blocks).toBeGreaterThanOrEqual(4)
      expect(await remoteStatus(nodes, record.cid)).toBe('pinned')
      expect((await there.engine.pins.list({ account: there.account })).total).toBe(1)
    })
  })
})

describe('lost content', () => {
  test('returns from the network, while the rest of it is served', () =>
    withNet(async net => {
      const dag = randomFile(4, 300_000, 'heals')
      const provider = await net.provider(dag.blocks)
      const node = await net.node({ network: { peers: [provider.address] } })
      const { engine, account } = node
      const cid = dag.root.toString()
      expect((await engine.pins.pin({ account, cid })).record.status).toBe('pinned')
      const [file = ''] = await filesIn(join(node.dataDir, 'blocks'))
      await rm(join(node.dataDir, 'blocks', file))
      expect((await engine.reconcile()).found).toEqual({ 'block-lost': 1 })
      await settled(engine)
      expect((await engine.pins.status({ account, cid }))[0]?.record.status).toBe('pinned')
      expect(node.changes).toContain('pinned>pinning')
      expect((await engine.verify()).damaged).toEqual([])
      expect((await engine.reconcile()).found).toEqual({})
    }))

  test('is found after a partial restore', async () => {
    await withTempDir(dir =>
      withEngine(async test => {
        const cid = await uploaded(test, LARGE, 'restored in part')
        const backup = join(dir, 'backup')
        await test.engine.backup(backup)
        const [block = ''] = await filesIn(join(backup, 'stores'))
        await rm(join(backup, 'stores', block))
        const dataDir = join(dir, 'restored')
        await restoreBackup({ backup, dataDir, partial: true })
        const engine = await createEngine({ dataDir: newDirectory(dataDir) })
        try {
          expect(await mended({ engine })).toEqual([{ 'block-lost': 1 }, { 'block-lost': 1 }, { 'block-lost': 1 }])
          expect(await statusOf({ ...test, engine }, cid)).toMatchObject({ status: 'pinning' })
        } finally {
          await engine.stop()
        }
      }),
    )
  })
})
