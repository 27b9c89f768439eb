import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { Semaphore } from '../../src/concurrency/capacity/semaphore.ts'
import { BlockFiles } from '../../src/content/block-files.ts'
import { BlockStore } from '../../src/content/block-store.ts'
import { Collector } from '../../src/content/collector.ts'
import { StagedDag } from '../../src/content/dag/staged-dag.ts'
import { DiskReserve } from '../../src/content/disk-reserve.ts'
import { Leases } from '../../src/content/leases.ts'
import { silentLogger } from '../../src/domain/logger.ts'
import { BlockTable } from '../../src/ledger/block-table.ts'
import { Claims } from '../../src/ledger/claims.ts'
import { HeldRoots } from '../../src/ledger/held-roots.ts'
import { Holds } from '../../src/ledger/holds.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import type { Possessor } from '../../src/ledger/possessor.ts'
import { ReachWalks } from '../../src/ledger/reach-walks.ts'
import { RootTable } from '../../src/ledger/root-table.ts'
import { WithheldLedger } from '../../src/ledger/withheld.ts'
import type { Database } from '../../src/storage/database.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { ManualClock } from './manual-clock.ts'
import { newDatabase } from './new-database.ts'
import { withTempDir } from './temp-dir.ts'

/** Block files whose operations a test can delay or make fail. */
class FaultyBlockFiles extends BlockFiles {
  /** If this function throws, the write fails with that error. */
  beforeWrite: (multihash: Uint8Array) => Promise<void> | void = () => undefined
  beforeRemove: (multihash: Uint8Array) => Promise<void> | void = () => undefined
  writes = 0

  override async write(multihash: Uint8Array, bytes: Uint8Array): Promise<string> {
    this.writes++
    await this.beforeWrite(multihash)
    return super.write(multihash, bytes)
  }

  override async remove(multihash: Uint8Array): Promise<string> {
    await this.beforeRemove(multihash)
    return super.remove(multihash)
  }
}

/** The parts that store content, without an engine around them. */
export interface ContentParts {
  dataDir: string
  clock: ManualClock
  files: FaultyBlockFiles
  ledger: Ledger
  blocks: BlockTable
  roots: RootTable
  store: BlockStore
  held: HeldRoots
  withheld: WithheldLedger
  reach: ReachWalks
  database: Database
  leases: Leases
  collector: Collector
  healed: string[]
  damaged: string[]
  /** @param by the party that sends the blocks; default: the node itself */
  stage(by?: Possessor): Promise<StagedDag>
  complete(staged: StagedDag, cid: CID): Promise<void>
  /** Drops a complete root, as the end of its last hold does. */
  drop(staged: StagedDag): Promise<void>
}

export const SMALL_BLOCK_BYTES = 1_024

export function withContentParts<T>(run: (parts: ContentParts) => Promise<T>): Promise<T> {
  return withTempDir(async dataDir => {
    const db = newDatabase(dataDir)
    const queue = new WriteQueue(db)
    try {
      return await run(await openParts(dataDir, db, queue))
    } finally {
      await queue.settled()
      db.close()
    }
  })
}

async function openParts(dataDir: string, db: Database, queue: WriteQueue): Promise<ContentParts> {
  const clock = new ManualClock()
  const files = new FaultyBlockFiles(dataDir)
  await files.open()
  const blocks = new BlockTable(db)
  const roots = new RootTable(db)
  const claims = new Claims(db, blocks, queue)
  const ledger = new Ledger({ claims, blocks, roots, holds: new Holds(db, roots), queue })
  const healed: string[] = []
  const damaged: string[] = []
  const store = new BlockStore(ledger, blocks, {
    backendId: 0,
    files,
    smallBlockBytes: SMALL_BLOCK_BYTES,
    writes: new Semaphore(2),
    reserve: new DiskReserve({
      dataDir,
      files: files.fileSystem,
      clock: clock,
      reserveBytes: 0,
      hasBallast: false,
      watch: files.watch,
    }),
    onHealed: cid => healed.push(cid.toString()),
    onDamaged: (cid, reason) => damaged.push(`${cid} ${reason}`),
  })
  const held = new HeldRoots(roots, blocks)
  const withheld = new WithheldLedger(db, blocks, queue)
  const reach = new ReachWalks(db, queue)
  const database = db
  const leases = new Leases()
  const collector = new Collector({
    ledger,
    stores: new Map([[0, store]]),
    leases,
    clock,
    logger: silentLogger,
    giveBackPages: async () => 0,
    graceMs: 60_000,
    intervalMs: 30_000,
  })
  return {
    ...{ dataDir, clock, files, ledger, blocks, roots, store, held, withheld, reach, database, leases, collector },
    ...{ healed, damaged },
    stage: async by => new StagedDag(await ledger.stage(0, clock.now()), store, ledger, by && (() => by)),
    complete: async (staged, cid) => {
      await staged.settle()
      const { dagSize, rootId } = staged
      const dag = { owner: 0, codec: cid.code, multihash: cid.multihash.bytes, ...staged.sizes(dagSize) }
      await queue.run(() => roots.complete(rootId, dag), { durable: true })
    },
    drop: staged => queue.run(() => roots.drop(staged.rootId), { durable: true }),
  }
}

export async function rawCid(bytes: Uint8Array): Promise<CID> {
  return CID.createV1(0x55, await sha256.digest(bytes))
}

export function gate(): { opened: Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

/** Waits for this many turns of the event loop. */
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise(resolve => setImmediate(resolve))
}

/** Longest wait of {@link eventually}, within the time of a test, in ms. */
const PATIENCE_MS = 25_000

/** Gives the event loop back until `isSo`. A busy disk may need many more turns than an idle one. */
export async function eventually(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; !(await isSo()); ) {
    if (performance.now() > end) throw new Error('the condition never became true')
    await turns(1)
  }
}

export function fault(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: injected`), { code })
}
