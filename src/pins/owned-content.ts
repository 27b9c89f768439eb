import type { CID } from 'multiformats/cid'
import type { Account } from '../catalogue/account-store.ts'
import type { Records } from '../catalogue/records.ts'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import type { Clock } from '../domain/clock.ts'
import { type DagIdentity, identityOf } from '../ipld/cid.ts'
import type { HeldRoots } from '../ledger/held-roots.ts'
import { PUBLIC } from '../ledger/possessor.ts'

/** An account rarely has more records of the same CID. */
const MOST_RECORDS = 100

export class OwnedContent {
  readonly #records: Records
  readonly #held: HeldRoots
  readonly #clock: Clock

  constructor(records: Records, held: HeldRoots, clock: Clock) {
    this.#records = records
    this.#held = held
    this.#clock = clock
  }

  /** Returns true if a live record of the account holds a complete DAG that contains this CID. */
  async has({ id: accountId, owner }: Account, cid: CID, signal?: AbortSignal): Promise<boolean> {
    if (await this.#hasRecord(accountId, identityOf(cid))) return true
    for (const root of this.#held.rootsWith(cid.multihash.bytes)) {
      const mayUse = root.owner === PUBLIC || root.owner === owner
      if (mayUse && (await this.#hasRecord(accountId, root))) return true
      if (turnSpent()) await nextTurn(signal)
    }
    return false
  }

  async #hasRecord(accountId: string, dag: DagIdentity): Promise<boolean> {
    const asked = { accountId, dag, clusterId: null, now: this.#clock.now(), limit: MOST_RECORDS }
    return (await this.#records.ofDag(asked)).some(({ rootId }) => rootId !== null)
  }
}
