import type { BulkChange, BulkChanges } from '../../catalogue/bulk-changes.ts'
import type { UndoPeriods } from '../../catalogue/undo-periods.ts'
import type { Collector } from '../../content/collector.ts'
import type { Clock } from '../../domain/clock.ts'

export interface DiskRoomParts {
  bulk: Pick<BulkChanges, 'purge'> & Pick<UndoPeriods, 'endForRoom' | 'endPeriods'>
  collector: Pick<Collector, 'collect' | 'isHeld'>
  /** Numbers in the ledger of the backends that this node keeps. */
  backends: readonly number[]
  /** Returns true while a set-back of the database stops the release of content. */
  isSetBack: () => Promise<boolean>
  clock: Clock
  /** Called for each undo period that ended early. */
  ended: (change: BulkChange) => void
}

/** Undo periods of all accounts that one call ends. */
const ENDED_AT_ONCE = 100

/** Frees content that is kept for a while, so that nobody is refused on a full disk: garbage first, then undo periods. */
export class DiskRoom {
  readonly #parts: DiskRoomParts

  constructor(parts: DiskRoomParts) {
    this.#parts = parts
  }

  /**
   * Collects all garbage, whatever its age, and ends undo periods one by one until there is room. Frees nothing during a
   * backup. During a set-back, frees only garbage of no record, because the content of ended periods would stay.
   */
  async make(hasRoom: () => Promise<boolean>): Promise<void> {
    const { bulk, collector, ended, isSetBack } = this.#parts
    for (;;) {
      if (collector.isHeld) return
      await collector.collect(0)
      if ((await hasRoom()) || (await isSetBack())) return
      const change = await bulk.endForRoom({ backends: this.#onFullNode() })
      if (change === null) return
      ended(change)
      await this.#purge(change)
    }
  }

  /** Ends all undo periods, and purges their records. Undos that have begun go on. */
  async endAll(): Promise<void> {
    const { bulk, ended } = this.#parts
    for (;;) {
      const changes = await bulk.endPeriods({ accountId: null, why: 'owner', limit: ENDED_AT_ONCE })
      for (const change of changes) {
        ended(change)
        await this.#purge(change)
      }
      if (changes.length === 0) return
    }
  }

  /** Returns the backends whose content takes room on the full node. */
  #onFullNode(): readonly number[] {
    return this.#parts.backends
  }

  async #purge({ id }: BulkChange): Promise<void> {
    while (await this.#parts.bulk.purge(id, this.#parts.clock.now()));
  }
}
