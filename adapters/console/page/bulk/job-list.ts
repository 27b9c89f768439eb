import { type HoldfastClient, isHoldfastError, type Job } from '../../../client/index.ts'
import { wordsFor } from '../words.ts'

export interface FollowedJob {
  readonly job: Job
  /** Why the last undo was refused, or why the state of the job is unknown. */
  readonly error: string | null
}

const LOOK_MS = 400
/** Pause after which an unavailable server is asked again. */
const RETRY_MS = 2_000
/** Interval at which lists reload while a job runs. */
const RELOAD_MS = 2_000
/** Maximum number of records of a content that a deletion with an undo finds. */
const MOST_RECORDS = 1_000

/** Jobs that change many pins. The list polls each running job until it ends, in every view of the page. */
export class JobList {
  #followed: readonly FollowedJob[] = []
  #started: string | null = null
  #changes = 0
  #changedAt = 0
  #isStopped = false
  readonly #client: HoldfastClient
  readonly #listeners = new Set<() => void>()

  constructor(client: HoldfastClient) {
    this.#client = client
  }

  get followed(): readonly FollowedJob[] {
    return this.#followed
  }

  /** Id of the job that the user started last on this page. */
  get started(): string | null {
    return this.#started
  }

  /** Counts the times that lists of pins had to reload. */
  get changes(): number {
    return this.#changes
  }

  /** Returns a function that unsubscribes the listener. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Finds the jobs that an earlier page started, if they run or can be undone. */
  async resume(): Promise<void> {
    const now = Date.now()
    const jobs = await this.#client.jobs.list()
    for (const job of jobs.toReversed()) {
      if (isRunning(job) || (job.undoUntil !== null && Date.parse(job.undoUntil) > now)) this.#follow(job)
    }
  }

  add(job: Job): void {
    this.#started = job.id
    this.#follow(job)
  }

  /** Deletes all records of a content, in one cluster or in all. With up to 1,000 records, an undo is possible. */
  async deleteContent(cid: string, cluster: string | undefined): Promise<void> {
    const { pins, jobs } = this.#client
    const ids: string[] = []
    for (let page = 1, pages = 1; page <= pages && ids.length <= MOST_RECORDS; page++) {
      const { uploads, pagination } = await pins.page(page, { cid, limit: MOST_RECORDS })
      const own = uploads.filter(({ clusterId }) => cluster === undefined || clusterId === cluster)
      ids.push(...own.map(({ uploadId }) => uploadId))
      pages = pagination.totalPages
    }
    if (ids.length === 0 || ids.length > MOST_RECORDS) await pins.remove(cid, { cluster })
    else this.add(await jobs.deleteRecords(ids))
  }

  async undo(id: string): Promise<void> {
    try {
      const job = await this.#client.jobs.undo(id)
      this.#follow(job)
    } catch (error) {
      this.#change(id, { error: wordsFor(error) })
    }
  }

  dismiss(id: string): void {
    this.#show(this.#followed.filter(({ job }) => job.id !== id))
  }

  /** Ends all polling. */
  stop(): void {
    this.#isStopped = true
  }

  #follow(job: Job): void {
    const known = this.#followed.find(one => one.job.id === job.id)
    if (known === undefined) this.#show([{ job, error: null }, ...this.#followed])
    else this.#change(job.id, { job, error: null })
    const isPolled = known !== undefined && isRunning(known.job)
    if (isRunning(job) && !isPolled) void this.#poll(job.id)
    else this.#noteChange(true)
  }

  async #poll(id: string): Promise<void> {
    for (;;) {
      const isKnown = await this.#look(id)
      const job = this.#followed.find(one => one.job.id === id)?.job
      if (this.#isStopped || job === undefined || !isRunning(job)) return
      await new Promise(resolve => setTimeout(resolve, isKnown ? LOOK_MS : RETRY_MS))
    }
  }

  /** Loads the state of a job. Returns false if the server is unavailable. */
  async #look(id: string): Promise<boolean> {
    try {
      const job = await this.#client.jobs.get(id)
      this.#change(id, { job, error: null })
      this.#noteChange(!isRunning(job))
      return true
    } catch (error) {
      if (isHoldfastError(error, 'UNAVAILABLE')) {
        this.#change(id, { error: `${wordsFor(error)}. Trying again…` })
        return false
      }
      this.dismiss(id)
      return true
    }
  }

  #noteChange(isAtOnce: boolean): void {
    if (!isAtOnce && Date.now() - this.#changedAt < RELOAD_MS) return
    this.#changedAt = Date.now()
    this.#changes++
    this.#show(this.#followed)
  }

  #change(id: string, changed: Partial<FollowedJob>): void {
    this.#show(this.#followed.map(one => (one.job.id === id ? { ...one, ...changed } : one)))
  }

  #show(followed: readonly FollowedJob[]): void {
    this.#followed = followed
    for (const listener of this.#listeners) listener()
  }
}

export function isRunning({ state }: Job): boolean {
  return state === 'running' || state === 'undoing'
}
