import type { DirectoryFile, SendOptions, TargetOptions, Upload } from '../../../client/index.ts'
import { wordsFor } from '../words.ts'

/** A file, or a folder with all that is below it. */
export interface Source {
  name: string
  /** Bytes. */
  size: number
  content: { file: File } | { files: readonly DirectoryFile[] }
}

/** How far something is on its way up: `storing` once all of it has been sent and the answer is waited for. */
export type UploadState = 'waiting' | 'sending' | 'storing' | 'done' | 'failed' | 'cancelled'

export interface QueuedUpload {
  readonly id: number
  readonly source: Source
  readonly target: TargetOptions
  readonly state: UploadState
  /** Bytes sent; with what a form adds, so it may be a little more than the size. */
  readonly sent: number
  /** Bytes a second, lately; null until there is something to tell. */
  readonly speed: number | null
  readonly error: string | null
  readonly result: Upload | null
}

export type Send = (source: Source, options: TargetOptions & SendOptions) => Promise<Upload>

/** As many as are sent at a time: a few small files do not wait for a large one, and none of them starves. */
const AT_ONCE = 3
/** Over which the speed is told. */
const SPEED_MS = 1_000
/** How much a new measurement counts against those before. */
const NEWEST = 0.4

/** What is on its way up, in the order in which it was dropped. */
export class UploadQueue {
  #uploads: readonly QueuedUpload[] = []
  #lastId = 0
  readonly #running = new Map<number, AbortController>()
  readonly #listeners = new Set<() => void>()
  readonly #send: Send
  readonly #now: () => number

  /** @param now Milliseconds, for the speed. */
  constructor(send: Send, now: () => number = Date.now) {
    this.#send = send
    this.#now = now
  }

  get uploads(): readonly QueuedUpload[] {
    return this.#uploads
  }

  /** Whether something would be lost if the page were closed. */
  get isBusy(): boolean {
    return this.#uploads.some(({ state }) => isUnfinished(state))
  }

  /** Told of every change. Returns what ends that. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  add(sources: readonly Source[], target: TargetOptions = {}): void {
    const fresh = sources.map(source => ({ ...BEGINNING, id: ++this.#lastId, source, target }))
    this.#show([...this.#uploads, ...fresh])
    this.#fill()
  }

  /** Ends one that waits or is sent; of one that is being stored it is not known how far it got. */
  cancel(id: number): void {
    this.#change(id, { state: 'cancelled' }, upload => isUnfinished(upload.state))
    this.#running.get(id)?.abort()
    this.#fill()
  }

  /** Once more from the beginning, after it failed or was cancelled. What had arrived makes no second record. */
  retry(id: number): void {
    this.#change(id, BEGINNING, ({ state }) => state === 'failed' || state === 'cancelled')
    this.#fill()
  }

  cancelAll(): void {
    for (const { id } of this.#uploads) this.cancel(id)
  }

  /** Forgets those that have come to an end. */
  clear(): void {
    this.#show(this.#uploads.filter(({ state }) => isUnfinished(state)))
  }

  #fill(): void {
    const next = this.#uploads.find(({ id, state }) => state === 'waiting' && !this.#running.has(id))
    if (next === undefined || this.#running.size >= AT_ONCE) return
    void this.#run(next)
    this.#fill()
  }

  async #run({ id, source, target }: QueuedUpload): Promise<void> {
    const controller = new AbortController()
    this.#running.set(id, controller)
    // One that was cancelled may be waiting to be sent again already.
    const isOn = (): boolean => !controller.signal.aborted
    this.#change(id, { state: 'sending' }, isOn)
    const meter = new SpeedMeter(this.#now)
    const onProgress = (sent: number): void => {
      const state = sent >= source.size ? 'storing' : 'sending'
      this.#change(id, { state, sent, speed: meter.read(sent) }, isOn)
    }
    try {
      const result = await this.#send(source, { ...target, onProgress, signal: controller.signal })
      this.#change(id, { state: 'done', sent: source.size, speed: null, result }, isOn)
    } catch (error) {
      this.#change(id, { state: 'failed', speed: null, error: wordsFor(error) }, isOn)
    }
    this.#running.delete(id)
    this.#fill()
  }

  #change(id: number, changed: Partial<QueuedUpload>, isMeant: (upload: QueuedUpload) => boolean): void {
    this.#show(this.#uploads.map(one => (one.id === id && isMeant(one) ? { ...one, ...changed } : one)))
  }

  #show(uploads: readonly QueuedUpload[]): void {
    this.#uploads = uploads
    for (const listener of this.#listeners) listener()
  }
}

const BEGINNING = { state: 'waiting', sent: 0, speed: null, error: null, result: null } as const

function isUnfinished(state: UploadState): boolean {
  return state === 'waiting' || state === 'sending' || state === 'storing'
}

/** Bytes a second, smoothed. */
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
