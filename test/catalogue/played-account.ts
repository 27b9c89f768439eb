import type { BulkChange, PinLimits, RecordRow } from '../../src/catalogue/index.ts'
import { SIZES } from './content-support.ts'

/** Quota of an account. */
export interface PlayedQuota {
  pins: number
  contents: number
}

/** A job of the play. `left` are its records that no step has removed, `gone` those that it has removed. */
export interface PlayedJob {
  change: BulkChange
  left: string[]
  gone: Map<string, unknown>
  isUndone: boolean
  /** True if the undo period has ended early. */
  isEnded: boolean
}

/** An account of a play: its records, its jobs, and what follows from them for its quota. */
export class PlayedAccount {
  readonly #quota: PlayedQuota
  /** Rows by id. */
  readonly live = new Map<string, unknown>()
  jobs: PlayedJob[] = []
  /** Bytes released while deletion is stopped; null while it is not. */
  released: number | null = null

  constructor(quota: PlayedQuota) {
    this.#quota = quota
  }

  /** Limits of the plan. */
  get plan(): PinLimits {
    const { pins, contents } = this.#quota
    return { maxPins: pins, maxStorageBytes: contents * SIZES.charge, maxQueuedPins: null }
  }

  /** Returns the contents that records of the account name. */
  contents(): Set<string> {
    return new Set([...this.live.values()].map(contentOf))
  }

  /** Returns the contents that only removed records name. */
  kept(jobs = this.jobs): Set<string> {
    const live = this.contents()
    const gone = jobs.flatMap(job => [...job.gone.values()]).map(contentOf)
    return new Set(gone.filter(content => !live.has(content)))
  }

  /** Returns the limits for new content, as a stop of deletion lowers them. */
  limits(): PinLimits {
    const undeleted = this.released === null ? 0 : this.kept().size * SIZES.charge + this.released
    return { ...this.plan, maxStorageBytes: this.#quota.contents * SIZES.charge - undeleted }
  }

  /** Returns whether another record of the content is within the limits. */
  hasRoom(content: string): boolean {
    if (this.live.size >= this.#quota.pins) return false
    const contents = this.contents()
    return contents.has(content) || (contents.size + 1) * SIZES.charge <= (this.limits().maxStorageBytes ?? 0)
  }

  /** Puts those of some removed records back that the quota allows. Returns their ids. */
  restore({ gone }: PlayedJob, some: readonly string[]): string[] {
    return some.filter(id => {
      const row = gone.get(id)
      if (this.live.size >= this.#quota.pins || this.contents().add(contentOf(row)).size > this.#quota.contents)
        return false
      this.live.set(id, row)
      return gone.delete(id)
    })
  }

  get newest(): PlayedJob | undefined {
    return this.jobs.findLast(({ isEnded }) => !isEnded)
  }

  /** Returns the jobs whose period can end, oldest first. All end at the same time. */
  endable(): PlayedJob[] {
    return this.jobs.filter(({ left, isUndone, isEnded }) => (left.length === 0 || isUndone) && !isEnded)
  }
}

function contentOf(row: unknown): string {
  return (row as RecordRow).cid
}
