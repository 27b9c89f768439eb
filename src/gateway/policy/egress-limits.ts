import { LRUCache } from 'lru-cache'
import type { EgressPayer } from '../../catalogue/egress.ts'
import { MOST_HOLDERS } from '../../concurrency/capacity/memory-budget.ts'
import { atMost } from '../../domain/lru.ts'

interface Account {
  most: number
  /** Bytes of the month in the catalogue, as far as this node knows them. */
  stored: number
  /**
   * First the bytes that the account may still begin to send: `most` less `stored`, running responses and unwritten
   * bytes. Then, by the number of each other thread, the bytes that it has taken and not yet reported.
   */
  left: BigInt64Array
}

/** Accounts whose bytes this node remembers. An account that is forgotten loses its running responses. */
const MOST_ACCOUNTS = 10_000

/** Bytes that accounts with a limit may still send, in memory that all threads of the node share. */
export class EgressLimits {
  readonly #accounts = new LRUCache<string, Account>(atMost(MOST_ACCOUNTS))

  /**
   * Takes over the bytes of the catalogue. No write of this node may run from the read of them until this call.
   * Returns the counter of the account.
   */
  learn({ accountId, bytes }: EgressPayer, most: number): BigInt64Array {
    const known = this.#accounts.get(accountId)
    if (known === undefined) {
      const left = new BigInt64Array(new SharedArrayBuffer(MOST_HOLDERS * BigInt64Array.BYTES_PER_ELEMENT))
      left[0] = BigInt(most - bytes)
      this.#accounts.set(accountId, { most, stored: bytes, left })
      return left
    }
    // Other nodes have written the difference, the plan has changed, or a month has begun.
    Atomics.add(known.left, 0, BigInt(most - known.most - (bytes - known.stored)))
    known.most = most
    known.stored = bytes
    return known.left
  }

  /** Notes bytes of ended responses that the thread `holder` has reported. */
  reported(accountId: string, holder: number, bytes: number): void {
    const known = this.#accounts.peek(accountId)
    if (known !== undefined) Atomics.sub(known.left, holder, BigInt(bytes))
  }

  /** Gives back what a thread that has ended took and did not report. */
  forget(holder: number): void {
    for (const { left } of this.#accounts.values()) Atomics.add(left, 0, Atomics.exchange(left, holder, 0n))
  }

  /** Notes bytes of ended responses that are in the catalogue now. */
  wrote(accountId: string, bytes: number): void {
    const known = this.#accounts.get(accountId)
    if (known !== undefined) known.stored += bytes
  }

  /** Notes bytes of ended responses that may be in the catalogue. The next {@link learn} tells. */
  lost(accountId: string, bytes: number): void {
    const known = this.#accounts.get(accountId)
    if (known !== undefined) Atomics.add(known.left, 0, BigInt(bytes))
  }
}
