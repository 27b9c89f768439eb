/** SHA-256 in hex of each file of a content, by its path below the root; '' for a single file. */
export type Hashes = Readonly<Record<string, string>>

/** One request that changes what is stored. Times are milliseconds since the epoch. */
interface Step {
  kind: 'store' | 'remove'
  began: number
  /** When the server acknowledged it; null before. */
  acknowledged: number | null
}

export interface Content {
  cid: string
  hashes: Hashes
  /** When it expires, in milliseconds since the epoch, or null. */
  expiresAt: number | null
  /** True if it is pinned by its CID, and so fetched from another node after the request. */
  isFetched?: boolean
  /** Number of the load's client that stores it. */
  worker?: number
}

interface Entry extends Content {
  steps: Step[]
}

/** Expected state of a content: `kept` and `gone` are certain, `open` allows both. */
export type Fate = 'kept' | 'gone' | 'open'

/**
 * The requests sent to a server and those it has acknowledged, by content. One client sends all requests for a content,
 * one after the other.
 */
export class AccountLog {
  readonly #entries = new Map<string, Entry>()
  /** When the only disk with a content was lost, by CID. */
  readonly #lost = new Map<string, number>()
  /** Maximum difference between the clock of a server and that of this process, in ms. */
  readonly skewMs: number

  constructor(skewMs = 0) {
    this.skewMs = skewMs
  }

  /**
   * Logs a request to store, which may have begun before its CID was known. Call the returned function at the
   * acknowledgement.
   */
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
      // The clock has whole milliseconds, so the answer arrived at the latest one later.
      step.acknowledged = now() + 1
    }
  }

  find(cid: string): Content | undefined {
    return this.#entries.get(cid)
  }

  get contents(): Content[] {
    return [...this.#entries.values()]
  }

  /** Number of acknowledged requests. */
  get acknowledged(): number {
    return [...this.#entries.values()].flatMap(entry => entry.steps).filter(step => step.acknowledged !== null).length
  }

  /**
   * Returns the state that a content must have after a crash.
   *
   * @param at the moment of the crash; later acknowledgements do not count
   * @param seen when the server was inspected: a content that expires in this interval is open
   */
  fateOf(cid: string, at: number, seen: { from: number; to: number }): Fate {
    const entry = this.#entries.get(cid)
    if (entry === undefined) return 'gone'
    if (entry.expiresAt !== null && entry.expiresAt + this.skewMs <= seen.from) return 'gone'
    const begun = entry.steps.filter(step => step.began <= at)
    const isOpen = begun.some(step => step.acknowledged === null || step.acknowledged > at)
    if (isOpen) return 'open'
    if (begun.at(-1)?.kind !== 'store') return 'gone'
    return entry.expiresAt !== null && entry.expiresAt - this.skewMs <= seen.to ? 'open' : 'kept'
  }

  /** Returns whether a content may have expired by the clock of a server. */
  isOver({ expiresAt }: Pick<Content, 'expiresAt'>): boolean {
    return expiresAt !== null && expiresAt - this.skewMs <= now()
  }

  /** Logs that the only disk with these contents was lost. */
  lose(cids: readonly string[], at: number): void {
    for (const cid of cids) this.#lost.set(cid, at)
  }

  /**
   * Returns when the only disk with a content was lost. Null if no disk was lost, or if a later request to store the
   * content was acknowledged.
   */
  lostAt(cid: string): number | null {
    const at = this.#lost.get(cid)
    const steps = this.#entries.get(cid)?.steps ?? []
    const isStoredAgain = steps.some(
      step => step.kind === 'store' && step.began > (at ?? 0) && step.acknowledged !== null,
    )
    return at === undefined || isStoredAgain ? null : at
  }

  /** Number of contents whose only disk was lost. */
  get lost(): number {
    return this.#lost.size
  }

  /** Returns whether a content without expiry was stored before a time, and nothing was asked for it since. */
  isSteady(cid: string, since: number): boolean {
    const entry = this.#entries.get(cid)
    if (entry === undefined || entry.expiresAt !== null) return false
    const areOld = entry.steps.every(({ acknowledged }) => acknowledged !== null && acknowledged < since)
    return areOld && entry.steps.at(-1)?.kind === 'store'
  }

  /** Logs that the requests of an interval may have been lost, with their acknowledgements. */
  undo(from: number, to: number): void {
    for (const { steps } of this.#entries.values()) {
      for (const step of steps) if (step.began >= from && step.began <= to) step.acknowledged = null
    }
  }

  /** Replaces the log: from now on exactly these contents are stored. */
  settle(listed: ReadonlySet<string>): void {
    this.#lost.clear()
    for (const [cid, entry] of this.#entries) {
      if (!listed.has(cid)) this.#entries.delete(cid)
      else entry.steps = [{ kind: 'store', began: 0, acknowledged: 0 }]
    }
  }
}

/** Returns milliseconds since the epoch, comparable between processes. */
export function now(): number {
  return Date.now()
}
