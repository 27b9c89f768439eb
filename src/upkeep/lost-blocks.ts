import type { StatusChange } from '../catalogue/fetches.ts'
import type { Reconciliation } from '../catalogue/reconciliation.ts'
import type { BlockAudit } from '../content/block-audit.ts'
import type { BlockSource } from '../content/block-source.ts'
import type { BlockStore } from '../content/block-store.ts'
import type { Clock } from '../domain/clock.ts'
import { isHoldfastError } from '../domain/errors.ts'
import { CODEC, cidOf } from '../ipld/cid.ts'
import type { Blocks, StoredBlock } from '../ledger/blocks.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { BlocksOfCopies } from './copied-blocks.ts'

export interface LostBlocksParts {
  reconciliation: Reconciliation
  blocks: Blocks
  ledger: Ledger
  audit: BlockAudit
  stores: ReadonlyMap<number, BlockStore>
  /** The readers check the hash of each block. */
  readersBeside: (backendId: number) => BlockSource[]
  /** Returns the backend id of each cluster. Clusters whose content is on other nodes are absent. */
  homes: () => ReadonlyMap<string, number>
  clock: Clock
  onChanges: (changes: StatusChange[]) => void
  /** Called with the ids of the fetches that records have joined or left. */
  fetchesChanged: (fetchIds: readonly number[]) => Promise<void>
}

const BATCH = 64
/** Time after which a node that was away is asked again for a lost block, in ms. */
const AGAIN_MS = 10_000
/** Further lost blocks wait for the next check of all blocks. */
const MOST_WAITING = 1_000

export interface SeeOptions {
  /** Fetches again the content of the pins that need the block. */
  requeue: boolean
  signal?: AbortSignal | undefined
}

export class LostBlocks {
  readonly #parts: LostBlocksParts
  /** Lost blocks that a node may bring back when it returns, by id. */
  readonly #waiting = new Map<number, () => void>()

  constructor(parts: LostBlocksParts) {
    this.#parts = parts
  }

  /**
   * Quarantines the remains of a block and marks it as lost, unless it has been repaired in the meantime. Repairs the
   * block if another backend has it. If a node with a copy is away, it is asked again later, and nothing
   * changes. Otherwise, if `requeue` is true, the content of the pins that need the block is fetched again.
   */
  async see(block: StoredBlock, problem: string, options: SeeOptions): Promise<void> {
    const { audit, blocks, stores } = this.#parts
    // The blocks of an absent cluster are not lost.
    const store = stores.get(block.backendId)
    if (store === undefined) return
    await store.checkThere()
    await audit.quarantine(block)
    if (audit.isCached(block)) return
    await audit.lose([block])
    if (blocks.get(block.id)?.state !== 'writing') return
    const healed = await this.#heal(block, options.signal)
    if (healed === 'unknown') this.#seeLater(block, problem, options)
    else if (!healed && options.requeue) await this.#requeue(block, problem)
  }

  async changed(changes: StatusChange[]): Promise<void> {
    if (changes.length === 0) return
    this.#parts.onChanges(changes)
    const fetchIds = changes.flatMap(({ record }) => record.fetchId ?? [])
    await this.#parts.fetchesChanged([...new Set(fetchIds)])
  }

  /** Ends the waits for nodes that were away. */
  stop(): void {
    for (const cancel of this.#waiting.values()) cancel()
    this.#waiting.clear()
  }

  /** Asks again soon. Meanwhile the records stay as they are. */
  #seeLater(block: StoredBlock, problem: string, { requeue }: SeeOptions): void {
    if (this.#waiting.size >= MOST_WAITING || this.#waiting.has(block.id)) return
    const cancel = this.#parts.clock.after(AGAIN_MS, () => {
      this.#waiting.delete(block.id)
      // The next check of all blocks finds the block, too.
      void this.see(block, problem, { requeue }).catch(() => undefined)
    })
    this.#waiting.set(block.id, cancel)
  }

  /** Returns `unknown` if a node that is away may have the block. */
  async #heal({ id, backendId, multihash }: StoredBlock, signal?: AbortSignal): Promise<boolean | 'unknown'> {
    let isUnknown = false
    const { blocks, clock, ledger, readersBeside, stores } = this.#parts
    const cid = cidOf({ codec: CODEC.raw, multihash })
    const store = stores.get(backendId)
    for (const reader of store === undefined ? [] : readersBeside(backendId)) {
      const bytes = await reader.read(cid, { signal }).catch((error: unknown) => {
        isUnknown ||= reader instanceof BlocksOfCopies && isHoldfastError(error, 'UNAVAILABLE')
        return null
      })
      if (store === undefined || bytes === null) continue
      const rootId = await ledger.stage(backendId, clock.now())
      try {
        const { durable } = await store.put(rootId, cid, bytes)
        await Promise.all([durable, store.flush()])
      } finally {
        await ledger.abandon(rootId)
      }
      if (blocks.get(id)?.state === 'durable') return true
    }
    return isUnknown && 'unknown'
  }

  async #requeue(block: StoredBlock, problem: string): Promise<void> {
    const { blocks, clock, homes, reconciliation } = this.#parts
    const { id, backendId, multihash } = block
    const cid = cidOf({ codec: CODEC.raw, multihash })
    const reason = `block ${cid} ${problem}; the node fetches it again`
    for (let after = 0; ; ) {
      const roots = blocks.completeRootsOf(id, after, BATCH)
      for (const { id: rootId, ...dag } of roots) {
        after = rootId
        const now = clock.now()
        await this.changed(await reconciliation.requeue({ backendId, dag, homes: homes(), reason, now }))
      }
      if (roots.length < BATCH) return
    }
  }
}
