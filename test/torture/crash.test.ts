import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, test } from 'vitest'
import { PROBE } from '../../src/content/store-watch.ts'
import { createEngine, type Engine } from '../../src/index.ts'
import { pseudoRandom, sha256Hex } from '../support/bytes.ts'
import { dagBytes, readFile, readTree } from '../support/read-back.ts'
import { strayBlocks, withDatabase } from '../support/store-inspection.ts'
import { withTempDir } from '../support/temp-dir.ts'
import type { Told } from '../support/uploading-child.ts'

const ROUNDS = 6
/** Seed of the contents and the moments of the kills. The output shows it, so that a failure can be repeated. */
const SEED = process.env.CRASH_SEED ?? String(Math.floor(Math.random() * 1e9))
const CHILD = join(import.meta.dirname, '../support/uploading-child.ts')
/** Concurrent requests of the child. As many may have ended without an acknowledgement. */
const SIDE_BY_SIDE = 3

interface Stored {
  cid: string
  hashes: Record<string, string>
}

/** All acknowledgements of the killed processes. */
class Acknowledged {
  readonly stored = new Map<string, Stored>()
  /** Removals requested and not acknowledged. They may have happened or not. */
  readonly open = new Set<string>()
  readonly removed = new Set<string>()

  hear(told: Told): void {
    if ('stored' in told) {
      this.stored.set(told.stored, told)
    } else if ('removing' in told) {
      this.open.add(told.removing)
    } else if ('removed' in told) {
      this.open.delete(told.removed)
      this.stored.delete(told.removed)
      this.removed.add(told.removed)
    }
  }
}

/** Runs the child and kills it this many lines and milliseconds later. Resolves when it has ended. */
async function runAndKill(args: string[], killAfter: { lines: number; ms: number }, hear: (told: Told) => void) {
  const child: ChildProcess = spawn(process.execPath, [CHILD, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  if (child.stdout === null) throw new Error('no output')
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })
  const closed = once(lines, 'close')
  let heard = 0
  lines.on('line', line => {
    hear(JSON.parse(line) as Told)
    if (heard++ === killAfter.lines) setTimeout(() => child.kill('SIGKILL'), killAfter.ms)
  })
  const [, signal] = await exited
  await closed
  expect(signal).toBe('SIGKILL')
}

async function listAll(engine: Engine, account: string) {
  const first = await engine.pins.list({ account, limit: 1_000 })
  expect(first.totalPages).toBeLessThan(2)
  expect(first.items).toHaveLength(first.total)
  return first.items
}

/** Checks everything that must hold when the directory is opened again. */
async function verify(dataDir: string, id: string, account: Acknowledged): Promise<void> {
  const engine = await createEngine({ dataDir })
  try {
    expect((await readdir(join(dataDir, 'tmp'))).filter(name => name !== PROBE)).toEqual([])
    const items = await listAll(engine, id)
    const listed = new Map(items.map(item => [item.uploadId, item]))
    const lost = [...account.stored.keys()].filter(uploadId => !listed.has(uploadId) && !account.open.has(uploadId))
    expect(lost, 'acknowledged and lost').toEqual([])
    expect(
      [...account.removed].filter(uploadId => listed.has(uploadId)),
      'removed and listed',
    ).toEqual([])
    const unacknowledged = items.filter(item => !account.stored.has(item.uploadId))
    expect(unacknowledged.length).toBeLessThanOrEqual(SIDE_BY_SIDE)
    const states = withDatabase(dataDir, db =>
      db.prepare<[], { state: string }>('SELECT DISTINCT state FROM roots').all(),
    )
    expect(states.map(({ state }) => state)).not.toContain('staging')
    await engine.collect({ graceSeconds: 0 })
    expect(await strayBlocks(dataDir)).toEqual({ files: [], rows: [] })
    await verifyContent(engine, account, items)
    await settle(engine, id, account)
  } finally {
    await engine.stop()
  }
}

async function verifyContent(
  engine: Engine,
  account: Acknowledged,
  items: Awaited<ReturnType<typeof listAll>>,
): Promise<void> {
  const backend = await engine.clusters.backendOf()
  const blocks = new Set<string>()
  for (const { uploadId, cid, dagSize } of items) {
    const dag = await dagBytes(backend, cid)
    expect(dag.bytes).toBe(dagSize)
    for (const key of dag.blocks.keys()) blocks.add(key)
    const stored = account.stored.get(uploadId)
    if (stored === undefined) continue
    expect(cid).toBe(stored.cid)
    const file = stored.hashes['']
    if (file !== undefined) expect(sha256Hex(await readFile(backend, cid))).toBe(file)
    else expect(await readTree(backend, cid)).toMatchObject(stored.hashes)
  }
  const rows = withDatabase(engine.dataDir, db =>
    db.prepare<[], { multihash: Uint8Array }>('SELECT multihash FROM blocks').all(),
  )
  expect(new Set(rows.map(row => Buffer.from(row.multihash).toString('hex')))).toEqual(blocks)
}

/** Treats the listed records as acknowledged from now on, and removes most, so that rounds stay short. */
async function settle(engine: Engine, id: string, account: Acknowledged): Promise<void> {
  const items = await listAll(engine, id)
  let storedBytes = 0
  for (const cid of new Set(items.map(item => item.cid))) {
    storedBytes += (await dagBytes(await engine.clusters.backendOf(), cid)).charge
  }
  expect(await engine.pins.usage(id)).toEqual({ pins: items.length, storedBytes, keptBytes: 0 })
  const kept = new Map<string, Stored>()
  for (const [i, item] of items.entries()) {
    const isOlder = i >= 12
    const isKnown = account.stored.has(item.uploadId)
    if (isOlder || !isKnown) await engine.pins.remove({ account: id, cid: item.cid }).catch(() => undefined)
  }
  for (const { uploadId } of await listAll(engine, id)) {
    const stored = account.stored.get(uploadId)
    if (stored !== undefined) kept.set(uploadId, stored)
  }
  account.stored.clear()
  account.open.clear()
  for (const [uploadId, stored] of kept) account.stored.set(uploadId, stored)
}

describe('a killed process', () => {
  test('loses nothing acknowledged and leaves nothing half-done', { timeout: 300_000 }, async () => {
    await withTempDir(async dataDir => {
      const engine = await createEngine({ dataDir })
      const { id } = await engine.accounts.create({ email: 'crash@example.org', plan: 'unlimited' })
      await engine.stop()
      const account = new Acknowledged()
      let acknowledged = 0
      console.log(`CRASH_SEED=${SEED}`)
      for (let round = 0; round < ROUNDS; round++) {
        const drawn = pseudoRandom(2, `${SEED} ${round}`)
        const killAfter = { lines: drawn.readUInt8(0) % 12, ms: drawn.readUInt8(1) % 40 }
        await runAndKill([dataDir, id, `${round} ${SEED}`], killAfter, told => {
          account.hear(told)
          acknowledged++
        })
        await verify(dataDir, id, account)
      }
      // Without this, a test that does nothing would pass.
      expect(acknowledged).toBeGreaterThanOrEqual(ROUNDS)
    })
  })
})
