import type { EngineOptions } from '../api.ts'
import { BlockAudit } from '../content/block-audit.ts'
import type { BlockFiles } from '../content/block-files.ts'
import { BlockStore } from '../content/block-store.ts'
import { Collector } from '../content/collector.ts'
import { DiskReserve } from '../content/disk-reserve.ts'
import { Leases } from '../content/leases.ts'
import { LiveContent } from '../content/live-content.ts'
import { Verifier } from '../content/verifier.ts'
import { Semaphore } from '../domain/concurrency/semaphore.ts'
import { HoldfastError } from '../domain/errors.ts'
import { BlockTable } from '../ledger/block-table.ts'
import { DEFAULT_BACKEND_ID } from '../ledger/blocks.ts'
import { HeldRoots } from '../ledger/held-roots.ts'
import { Holds } from '../ledger/holds.ts'
import { Ledger } from '../ledger/ledger.ts'
import { RootTable } from '../ledger/root-table.ts'
import { VerificationTable } from '../ledger/verification-table.ts'
import type { Checkpoints } from '../storage/checkpoints.ts'
import { WriteQueue } from '../storage/write-queue.ts'
import type { Parts } from './container.ts'
import type { Stores } from './stores.ts'
import { T } from './tokens.ts'

/** Up to here a block is cheaper as a row than as a file, measured in docs/benchmarks.md. */
const SMALL_BLOCK_BYTES = 32 * 1024
/** Free pages that one transaction gives back to the disk. */
const PAGES_AT_ONCE = 64
/** libuv's own default. */
const THREADS = 4

/**
 * Ledger, block stores and collector. Needs the clock, the logger, the events, the database and its write queue.
 *
 * @param stores the opened directories by backend, and the threads that write to them
 */
export function provideContent(
  parts: Parts,
  options: EngineOptions,
  stores: Pick<Stores, 'blockFiles' | 'threads'>,
): void {
  parts.provide(T.blockTable, p => new BlockTable(p.get(T.database)))
  parts.provide(T.rootTable, p => new RootTable(p.get(T.database)))
  parts.provide(T.holds, p => new Holds(p.get(T.database), p.get(T.rootTable)))
  parts.provide(T.heldRoots, p => {
    const elsewhere = new Set(p.get(T.remoteBackends).keys())
    return new HeldRoots(p.get(T.rootTable), p.get(T.blockTable), p.get(T.writes), elsewhere)
  })
  parts.provide(T.ledger, p => new Ledger(p.get(T.blockTable), p.get(T.rootTable), p.get(T.holds), p.get(T.writes)))
  parts.provide(T.leases, () => new Leases())
  parts.provide(T.reserves, p => {
    const reserves = [...stores.blockFiles].map(([backendId, { dataDir, fileSystem: files }]) => {
      const { reserveBytes } = options.disk ?? {}
      const hasBallast = backendId === DEFAULT_BACKEND_ID
      return [backendId, new DiskReserve({ dataDir, files, clock: p.get(T.clock), reserveBytes, hasBallast })] as const
    })
    return new Map(reserves)
  })
  parts.provide(T.blockStores, p => {
    const logger = p.get(T.logger)
    const events = p.get(T.events)
    const writes = new Semaphore(writesAtOnce(options))
    const storeOf = (backendId: number, blockFiles: BlockFiles): BlockStore =>
      new BlockStore(p.get(T.ledger), p.get(T.blockTable), {
        backendId,
        files: blockFiles,
        threads: stores.threads,
        // Small blocks are rows of the engine's own database; a backend elsewhere keeps all of its bytes there.
        smallBlockBytes: backendId === DEFAULT_BACKEND_ID ? SMALL_BLOCK_BYTES : 0,
        writes,
        reserve: reserveOf(p, backendId),
        onHealed: cid => {
          logger.warn({ cid: cid.toString() }, 'a damaged block has been put right by an upload of the same bytes')
          events.emit('block:healed', { cid })
        },
        onDamaged: (cid, reason) => {
          logger.error({ cid: cid.toString(), reason }, 'a block is damaged; uploading the same bytes puts it right')
          events.emit('block:damaged', { cid, reason })
        },
      })
    return new Map([...stores.blockFiles].map(([backendId, blockFiles]) => [backendId, storeOf(backendId, blockFiles)]))
  })
  parts.provide(
    T.collector,
    p =>
      new Collector(p.get(T.ledger), p.get(T.blockStores), p.get(T.leases), p.get(T.clock), p.get(T.logger), {
        graceMs: (options.gc?.graceSeconds ?? 60) * 1_000,
        intervalMs: (options.gc?.intervalSeconds ?? 30) * 1_000,
        giveBackPages: () => p.get(T.writes).run(() => p.get(T.database).giveBack(PAGES_AT_ONCE), { durable: false }),
        onCollected: freed => {
          p.get(T.metrics).collected(freed)
          if (freed.roots + freed.blocks > 0) p.get(T.events).emit('collected', freed)
        },
      }),
  )
  parts.provide(T.verifier, p => new Verifier(p.get(T.blockTable), p.get(T.blockStores), p.get(T.activity)))
  parts.provide(T.verificationTable, p => new VerificationTable(p.get(T.database), p.get(T.writes)))
  parts.provide(T.blockAudit, p => new BlockAudit(stores.blockFiles, p.get(T.blockTable), p.get(T.ledger)))
  parts.provide(T.liveContent, p => {
    const readerOf = (backendId: number) => p.get(T.clusters).readerOf(backendId)
    return new LiveContent(p.get(T.heldRoots), readerOf, p.get(T.leases), p.get(T.clock))
  })
}

/**
 * The queue of all writes to the database. On a full disk its log is first written from the start again, which needs no
 * room, and then the ballast given up: so what frees room finds some.
 */
export function provideWrites(parts: Parts, checkpoints: Checkpoints): void {
  parts.provide(T.writes, p => {
    const database = p.get(T.database)
    const logger = p.get(T.logger)
    return new WriteQueue(database, {
      checkpoints,
      onBroken: err => logger.error({ err }, 'the disk has failed a write: nothing more is written'),
      makeRoom: [
        () => database.restartLog(),
        async () => {
          const isGivenUp = await reserveOf(p, DEFAULT_BACKEND_ID).giveUpBallast()
          if (isGivenUp) logger.warn({}, 'the disk is full: the ballast is given up')
          return isGivenUp
        },
      ],
    })
  })
}

/** Half of the pool, so that reads are not held up. */
function writesAtOnce({ threadPoolSize = THREADS }: EngineOptions): number {
  return Math.max(2, Math.floor(threadPoolSize / 2))
}

function reserveOf(parts: Parts, backendId: number): DiskReserve {
  const reserve = parts.get(T.reserves).get(backendId)
  if (reserve === undefined) throw new HoldfastError('INTERNAL_ERROR', `backend ${backendId} has no disk`)
  return reserve
}
