import { Semaphore } from '../concurrency/capacity/semaphore.ts'
import { BlockStore } from '../content/block-store.ts'
import { Collector } from '../content/collector.ts'
import { Leases } from '../content/leases.ts'
import { HoldfastError } from '../domain/errors.ts'
import { DEFAULT_BACKEND_ID } from '../ledger/blocks.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

/** Larger blocks are cheaper as files (docs/design/benchmarks.md). */
const SMALL_BLOCK_BYTES = 32 * 1024
/** Default of libuv. */
const THREADS = 4

export type ContentModule = ReturnType<typeof makeContent>

export function makeContent(setup: Setup, storage: StorageModule) {
  const { clock, logger, events, metrics, config } = setup
  const { ledger, blockFiles } = storage
  const leases = new Leases()
  const blockStores = makeBlockStores(setup, storage)
  const collector = new Collector({
    ledger,
    stores: blockStores,
    leases,
    clock,
    logger,
    metrics,
    graceMs: config.gc.graceSeconds * 1_000,
    intervalMs: config.gc.intervalSeconds * 1_000,
    giveBackPages: storage.giveBackPages,
    onCollected: freed => {
      metrics.collected(freed)
      if (freed.roots + freed.blocks > 0) events.emit('collected', freed)
      for (const files of blockFiles.values()) {
        files.trim().catch((error: unknown) => logger.warn({ err: error }, 'a cache could not be trimmed'))
      }
    },
  })
  return {
    leases,
    blockStores,
    collector,
    start: () => collector.start(),
    unsettled: () => collector.unsettled(),
    stop: () => collector.stop(),
  }
}

function makeBlockStores({ logger, events, threadPoolSize }: Setup, storage: StorageModule) {
  const { ledger, blocks, threads, reserves } = storage
  // The other threads are free for reads.
  const writes = new Semaphore(Math.max(2, Math.floor((threadPoolSize ?? THREADS) / 2)))
  const stores = new Map<number, BlockStore>()
  for (const [backendId, files] of storage.blockFiles) {
    const reserve = reserves.get(backendId)
    if (reserve === undefined) throw new HoldfastError('INTERNAL_ERROR', `backend ${backendId} has no disk`)
    const store = new BlockStore(ledger, blocks, {
      backendId,
      files,
      threads,
      // Only the default backend stores small blocks in the engine's database.
      smallBlockBytes: backendId === DEFAULT_BACKEND_ID ? SMALL_BLOCK_BYTES : 0,
      writes,
      reserve,
      onHealed: cid => {
        logger.warn({ cid: cid.toString() }, 'an upload of the same bytes has repaired a damaged block')
        events.emit('block:healed', { cid })
      },
      onDamaged: (cid, reason) => {
        logger.error({ cid: cid.toString(), reason }, 'a block is damaged: upload the same bytes to repair it')
        events.emit('block:damaged', { cid, reason })
      },
    })
    stores.set(backendId, store)
  }
  return stores
}
