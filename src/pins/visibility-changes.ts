import type { Records } from '../catalogue/records.ts'
import type { Clock } from '../domain/clock.ts'
import { isHoldfastError } from '../domain/errors.ts'
import type { PendingNode } from '../domain/pending-nodes.ts'
import { checkedVisibility, type Visibility } from '../domain/visibility.ts'
import type { PinTargets } from './pin-targets.ts'
import type { PinRecord } from './pin-types.ts'
import { presentRecord } from './present-record.ts'

interface Parts {
  records: Pick<Records, 'setOwner'>
  targets: PinTargets
  /** Changes a record whose content another node keeps. Null for a node without others. */
  member: { setOwner(change: { node: string; accountId: string; id: string; owner: number }): Promise<void> } | null
  clock: Clock
}

/** A record of an account, and its new visibility. */
export interface VisibilityChange {
  account: string
  uploadId: string
  clusterId: string
  visibility: Visibility
}

/** Changes the visibility of records. Afterwards all nodes and threads decide their open responses again. */
export class VisibilityChanges {
  readonly #parts: Parts
  #followed: () => Promise<PendingNode[]> = async () => []
  readonly #listeners: Array<(record: PinRecord) => void> = []

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** @param followed makes all nodes and threads follow the changes so far, and returns those that have not confirmed */
  announceBy(followed: () => Promise<PendingNode[]>): void {
    this.#followed = followed
  }

  /**
   * Returns the changed record, or null if the account has none with this id.
   *
   * @throws HoldfastError `VALIDATION`; `NOT_OFFERED` in a cluster that serves to everybody; `CONFLICT` if the content
   * has not arrived; `UNAVAILABLE` if another node keeps the content and does not follow
   */
  async change({ account, uploadId: id, clusterId, visibility }: VisibilityChange): Promise<PinRecord | null> {
    const { targets, records, member, clock } = this.#parts
    const requester = await targets.requester(account)
    const owner = targets.ownerOf(requester, clusterId, checkedVisibility(visibility))
    const change = { accountId: account, id, owner }
    const row = await records.setOwner({ ...change, now: clock.now() }).catch(async error => {
      // The node with the content changes both.
      const { node } = isHoldfastError(error, 'UNAVAILABLE') ? error.details : {}
      if (member === null || typeof node !== 'string') throw error
      await member.setOwner({ node, ...change })
      return records.setOwner({ ...change, now: clock.now() })
    })
    if (row === null) return null
    const record = presentRecord(row)
    for (const changed of this.#listeners) changed(record)
    return record
  }

  /** Calls a listener with each record after a change of its visibility. */
  observe(changed: (record: PinRecord) => void): void {
    this.#listeners.push(changed)
  }

  /** Waits until all nodes and threads follow the changes so far. Returns those that do not after some seconds. */
  followed(): Promise<PendingNode[]> {
    return this.#followed()
  }
}
