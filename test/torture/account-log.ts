/** What a content is read back by: paths below its root, '' for a file, and the SHA-256 of what is there, in hex. */
export type Hashes = Readonly<Record<string, string>>

/** One request that changes what is stored. Times are milliseconds since the epoch, with fractions. */
interface Step {
  kind: 'store' | 'remove'
  began: number
  /** When it was acknowledged; null while it is not. */
  acknowledged: number | null
}

export interface Content {
  cid: string
  hashes: Hashes
  /** When it expires, or null. */
  expiresAt: number | null
  /** Somebody else has it: it is pinned by its CID, and comes later. */
  isFetched?: boolean
  /** Which client of a load sees to it. */
  worker?: number
}

interface Entry extends Content {
  steps: Step[]
}

/** What must be there at some moment: `kept` and `gone` are certain, `open` may be either. */
export type Fate = 'kept' | 'gone' | 'open'

/**
 * What was asked of a server and what it has acknowledged, by content. All steps of a content come from one client,
 * one after the other.
 */
export class AccountLog {
  readonly #entries = new Map<string, Entry>()

  /** Notes a request for storing, which may have begun before its CID was known. Call what is returned when it is acknowledged. */
  storing(content: Content, began = now()): () => void {
    const entry = this.#entries.get(content.cid) ?? { ...content, steps: [] }
    this.#entries.set(content.cid, entry)
    return this.#begin(entry, 'store', began)
  }

  removing(cid: string): () => void {
    const entry = this.#entries.get(cid)
    if (entry === undefined) throw new Error(`${cid} was never stored`)
    return this.#begin(entry, 'remove')
  }

  #begin(entry: Entry, kind: Step['kind'], began = now()): () => void {
    const step: Step = { kind, began, acknowledged: null }
    entry.steps.push(step)
    return () => {
      // The clock counts whole milliseconds: by the end of this one the answer had certainly come.
      step.acknowledged = now() + 1
    }
  }

  find(cid: string): Content | undefined {
    return this.#entries.get(cid)
  }

  get contents(): Content[] {
    return [...this.#entries.values()]
  }

  /** Requests that were acknowledged. */
  get acknowledged(): number {
    return [...this.#entries.values()].flatMap(entry => entry.steps).filter(step => step.acknowledged !== null).length
  }

  /**
   * What must have become of a content.
   *
   * @param at the moment at which the server was cut off; what was acknowledged later does not count
   * @param seen when it was looked at, from the first moment to the last: what expires meanwhile is open
   */
  fateOf(cid: string, at: number, seen: { from: number; to: number }): Fate {
    const entry = this.#entries.get(cid)
    if (entry === undefined) return 'gone'
    if (entry.expiresAt !== null && entry.expiresAt <= seen.from) return 'gone'
    const begun = entry.steps.filter(step => step.began <= at)
    const isOpen = begun.some(step => step.acknowledged === null || step.acknowledged > at)
    if (isOpen) return 'open'
    if (begun.at(-1)?.kind !== 'store') return 'gone'
    return entry.expiresAt !== null && entry.expiresAt <= seen.to ? 'open' : 'kept'
  }

  /** From here on exactly these are stored. */
  settle(listed: ReadonlySet<string>): void {
    for (const [cid, entry] of this.#entries) {
      if (!listed.has(cid)) this.#entries.delete(cid)
      else entry.steps = [{ kind: 'store', began: 0, acknowledged: 0 }]
    }
  }
}

/** Milliseconds since the epoch, on the clock that other processes read as well. */
export function now(): number {
  return Date.now()
}
