import {
  type DirectoryFile,
  isHoldfastError,
  type SendOptions,
  type TargetOptions,
  type Upload,
} from '../../../client/index.ts'
import { wordsFor } from '../words.ts'

/** A file, or a folder with all files below it. */
export interface Source {
  name: string
  /** In bytes. */
  size: number
  content: { file: File } | { files: readonly DirectoryFile[] }
}

/** `storing` means that all bytes are sent, but the server has not answered yet. */
export type UploadState = 'waiting' | 'sending' | 'storing' | 'done' | 'failed' | 'cancelled'

export interface QueuedUpload {
  readonly id: number
  readonly source: Source
  readonly target: TargetOptions
  readonly state: UploadState
  /** Bytes sent. They may exceed the size of the files, because they include the multipart form. */
  readonly sent: number
  /** In bytes per second. Null before the first measurement. */
  readonly speed: number | null
  /** Number of attempts in a row that found no server. */
  readonly misses: number
  readonly error: string | null
  readonly result: Upload | null
}

export type Send = (source: Source, options: TargetOptions & SendOptions) => Promise<Upload>

/** With several uploads at once, a small file does not wait for a large one. */
const AT_ONCE = 3
/** Interval of the speed measurements. */
const SPEED_MS = 1_000
/** Weight of a new measurement in the smoothed speed, from 0 to 1. */
const NEWEST = 0.4

/** Pauses in ms of all uploads after an attempt that found no server. The last one repeats. */
const REST_MS = [2_000, 5_000, 15_000]
/** A server that resets each attempt may refuse this upload for a reason of its own. */
const MOST_MISSES = 12
/** Statuses by which a proxy says that the server is away. */
const AWAY = [undefined, 502, 503, 504]

/** Starts uploads in the order in which they were added. They wait for a server that is away, such as during a restart. */
export class UploadQueue {
  #uploads: readonly QueuedUpload[] = []
  #lastId = 0
  #isPaused = false
  #rest: ReturnType<typeof setTimeout> | null = null
  readonly #running = new Map<number, AbortController>()
  readonly #listeners = new Set<() => void>()
  readonly #send: Send
  readonly #now: () => number

  constructor(send: Send, now: () => number = Date.now) {
    this.#send = send
    this.#now = now
  }

  get uploads(): readonly QueuedUpload[] {
    return this.#uploads
  }

  /** Number of uploads that closing the page would interrupt. */
  get unfinished(): number {
    return this.#uploads.filter(({ state }) => isUnfinished(state)).length
  }

  get isBusy(): boolean {
    return this.unfinished > 0
  }

  /** Returns a function that unsubscribes the listener. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  add(sources: readonly Source[], target: TargetOptions = {}): void {
    const fresh = sources.map(source => ({ ...BEGINNING, id: ++this.#lastId, source, target }))
    this.#show([...this.#uploads, ...fresh])
    this.#fill()
  }

  /** Cancels an upload. An upload in state `storing` may still succeed on the server. */
  cancel(id: number): void {
    this.#change(id, { state: 'cancelled' }, upload => isUnfinished(upload.state))
    this.#running.get(id)?.abort()
    this.#fill()
  }

  /** Restarts an upload. If the server already has the content, it creates no second record. */
  retry(id: number): void {
    this.#endRest()
    this.#change(id, BEGINNING, ({ state }) => state === 'failed' || state === 'cancelled')
    this.#fill()
  }

  cancelAll(): void {
    for (const { id } of this.#uploads) this.cancel(id)
  }

  /** Stops all uploads, which start again from their beginning at {@link resume}. */
  pause(): void {
    this.#isPaused = true
    for (const [id, controller] of this.#running) {
      this.#change(id, BEGINNING, upload => isUnfinished(upload.state))
      controller.abort()
    }
  }

  resume(): void {
    this.#isPaused = false
    this.#endRest()
    this.#fill()
  }

  /** Removes uploads that are done, failed or cancelled. */
  clear(): void {
    this.#show(this.#uploads.filter(({ state }) => isUnfinished(state)))
  }

  #endRest(): void {
    clearTimeout(this.#rest ?? undefined)
    this.#rest = null
  }

  #fill(): void {
    if (this.#isPaused || this.#rest !== null) return
    const next = this.#uploads.find(({ id, state }) => state === 'waiting' && !this.#running.has(id))
    if (next === undefined || this.#running.size >= AT_ONCE) return
    void this.#run(next)
    this.#fill()
  }

  async #run({ id, source, target, misses }: QueuedUpload): Promise<void> {
    const controller = new AbortController()
    this.#running.set(id, controller)
    // Ignores results of a cancelled run: the same upload may be waiting for a retry.
    const isOn = (): boolean => !controller.signal.aborted
    this.#change(id, { state: 'sending', error: null }, isOn)
    const meter = new SpeedMeter(this.#now)
    const onProgress = (sent: number): void => {
      const state = sent >= source.size ? 'storing' : 'sending'
      this.#change(id, { state, sent, speed: meter.read(sent) }, isOn)
    }
    try {
      const result = await this.#send(source, { ...target, onProgress, signal: controller.signal })
      this.#change(id, { state: 'done', sent: source.size, speed: null, result }, isOn)
    } catch (error) {
      if (isOn() && isAway(error) && misses < MOST_MISSES) this.#again(id, misses, wordsFor(error))
      else this.#change(id, { state: 'failed', speed: null, error: wordsFor(error) }, isOn)
    }
    this.#running.delete(id)
    this.#fill()
  }

  /** Lets all uploads rest, and then begin again. */
  #again(id: number, misses: number, why: string): void {
    const error = `${why}. Trying again…`
    this.#change(id, { ...BEGINNING, misses: misses + 1, error }, () => true)
    this.#endRest()
    this.#rest = setTimeout(
      () => {
        this.#rest = null
        this.#fill()
      },
      REST_MS[Math.min(misses, REST_MS.length - 1)],
    )
  }

  #change(id: number, changed: Partial<QueuedUpload>, isMeant: (upload: QueuedUpload) => boolean): void {
    this.#show(this.#uploads.map(one => (one.id === id && isMeant(one) ? { ...one, ...changed } : one)))
  }

  #show(uploads: readonly QueuedUpload[]): void {
    this.#uploads = uploads
    for (const listener of this.#listeners) listener()
  }
}

const BEGINNING = { state: 'waiting', sent: 0, speed: null, misses: 0, error: null, result: null } as const

function isAway(error: unknown): boolean {
  return isHoldfastError(error, 'UNAVAILABLE') && AWAY.some(status => status === error.details.status)
}

function isUnfinished(state: UploadState): boolean {
  return state === 'waiting' || state === 'sending' || state === 'storing'
}

/** Measures bytes per second, smoothed over time. */
class SpeedMeter {
  #since: number
  #from = 0
  #speed: number | null = null
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
    this.#since = now()
  }

  read(sent: number): number | null {
    const elapsed = this.#now() - this.#since
    if (elapsed < SPEED_MS) return this.#speed
    const latest = ((sent - this.#from) * 1_000) / elapsed
    this.#speed = this.#speed === null ? latest : this.#speed * (1 - NEWEST) + latest * NEWEST
    this.#since += elapsed
    this.#from = sent
    return this.#speed
  }
}
