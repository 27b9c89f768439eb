import type { Copies, CopyPlace, DueCopy } from '../catalogue/copies.ts'
import type { StagingBackend } from '../clusters/staging-backend.ts'
import { Pace } from '../concurrency/pace.ts'
import { type Settling, unsettled, WokenWork, warned } from '../concurrency/woken-work.ts'
import type { BlockSource } from '../content/block-source.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'
import { cidOf } from '../ipld/cid.ts'
import { type Attempt, type JobKind, JobRunner } from '../jobs/job-runner.ts'
import { takeDag } from './taken-dag.ts'

export interface CopyRunnerParts {
  copies: Copies
  /** Returns the backend of this node for the content of a cluster. */
  homeOf: (clusterId: string | null) => StagingBackend
  /** Returns a reader of the nodes with these ids, which have the same content. */
  readerOf: (nodes: readonly string[]) => BlockSource
  /** Asks a node which holds its ledger has; null if it does not answer. */
  holdsOn: (node: string, holds: readonly string[]) => Promise<{ run: string; held: readonly string[] } | null>
  /** Returns the free bytes of the disk, and those to keep free; null before the first reading. */
  disk: () => { freeBytes: number; reserveBytes: number } | null
  /** Reads the free bytes again. */
  lookAtDisk: () => Promise<unknown>
  /** Returns the time after which the nodes of a cluster are away, in ms; undefined for an unknown cluster. */
  repairAfterMs: (clusterId: string) => number | undefined
  /** Returns the time in ms for which this node has written its heartbeats without a break. */
  unbrokenMs: () => number
  /** Limits of repairs. Copies of new content have none. */
  rates: { bytesPerSecond: number; contentsPerSecond: number }
  clock: Clock
  logger: Logger
}

/** Copies of new content that are made concurrently. */
const AT_ONCE = 16
/** Copies that are made again, or repaired, concurrently. */
const REPAIRS_AT_ONCE = 8
/**
 * Free space at which a node takes no more copies (`full`), and above which it takes copies again (`roomy`), in reserves of
 * uploads.
 */
const RESERVES = { full: 2, roomy: 3 }
const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 300_000
/** Time after which a full runner looks for a free slot, in case no attempt has ended. */
const FULL_MS = 60_000
const FREED_AT_ONCE = 50
/** Time until a copy that could not be released is tried again. */
const FREE_AGAIN_MS = 60_000

type CopyAttempt = Attempt<DueCopy>

/** Makes and repairs the copies that this node should have, and follows changes of what is wanted. */
export class CopyRunner implements Settling {
  readonly #fresh: JobRunner<DueCopy, CopyAttempt>
  readonly #repairs: JobRunner<DueCopy, CopyAttempt>
  readonly #walk: WokenWork
  readonly #room: CopyRoom

  constructor(parts: CopyRunnerParts) {
    const { copies, clock, logger, rates } = parts
    this.#room = new CopyRoom(parts)
    const isFull = (): boolean => this.#room.isFull
    const fresh: Lane = {
      isFresh: true,
      isFull,
      atOnce: AT_ONCE,
      begin: async () => undefined,
      read: async () => isFull(),
    }
    this.#fresh = new JobRunner(jobsOf(parts, fresh), { clock, logger })
    const contents = new Pace(rates.contentsPerSecond, clock)
    const bytes = new Pace(rates.bytesPerSecond, clock)
    const repairs: Lane = {
      isFresh: false,
      // Copies of new content go first.
      isFull: () => isFull() || this.#fresh.attempts.length >= AT_ONCE,
      atOnce: REPAIRS_AT_ONCE,
      begin: signal => contents.spend(1, signal),
      read: async (count, signal) => {
        await bytes.spend(count, signal)
        return isFull()
      },
    }
    this.#repairs = new JobRunner(jobsOf(parts, repairs), { clock, logger })
    const walk = async (signal: AbortSignal): Promise<void> => {
      await parts.lookAtDisk()
      await copies.presence.room(this.#room.isFull)
      await copies.presence.observe(parts.repairAfterMs, parts.unbrokenMs())
      while (await copies.compare()) signal.throwIfAborted()
      while (await copies.promote()) signal.throwIfAborted()
      while (await copies.walk()) signal.throwIfAborted()
      this.look()
      await freeAll(parts, signal)
    }
    this.#walk = new WokenWork(walk, {
      name: 'walk of copies',
      failed: warned(logger, 'a change of the wanted copies was not followed yet; it is retried'),
    })
  }

  /** Looks for copies to make. */
  readonly look = (): void => {
    this.#fresh.wake()
    this.#repairs.wake()
  }

  wake(): void {
    this.#walk.wake()
    this.look()
  }

  unsettled(): Promise<string[]> {
    return unsettled([this.#walk, this.#fresh, this.#repairs])
  }

  async stop(): Promise<void> {
    await Promise.all([this.#walk.stop(), this.#fresh.stop(), this.#repairs.stop()])
  }
}

/** The room of the disk for copies. They never use the last room of uploads. */
class CopyRoom {
  readonly #disk: CopyRunnerParts['disk']
  #wasFull = false

  constructor({ disk }: Pick<CopyRunnerParts, 'disk'>) {
    this.#disk = disk
  }

  get isFull(): boolean {
    const { freeBytes = 0, reserveBytes = 0 } = this.#disk() ?? {}
    this.#wasFull = freeBytes < reserveBytes * (this.#wasFull ? RESERVES.roomy : RESERVES.full)
    return this.#wasFull
  }
}

/** Copies of one kind: of new content, or made again and repaired. */
interface Lane {
  isFresh: boolean
  /** True if no further copy should begin. */
  isFull: () => boolean
  atOnce: number
  /** Waits until a copy may begin. */
  begin: (signal: AbortSignal) => Promise<void>
  /** Waits for the time of bytes that were read. Returns whether the disk has no room for them. */
  read: (bytes: number, signal: AbortSignal) => Promise<boolean>
}

/** Releases what other places make superfluous, after their nodes have said that they have it. */
async function freeAll({ copies: { freed }, holdsOn, clock }: CopyRunnerParts, signal: AbortSignal): Promise<void> {
  const later = clock.now() + FREE_AGAIN_MS
  for (;;) {
    const going = await freed.begin(clock.now(), FREED_AT_ONCE, later)
    if (going.length === 0) return
    const asked = Map.groupBy(
      going.flatMap(({ places }) => places),
      ({ node }) => node,
    )
    const sound: CopyPlace[] = []
    for (const [node, places] of asked) {
      const answer = await holdsOn(node, [...new Set(places.map(({ hold }) => hold))])
      sound.push(...places.filter(({ run, hold }) => answer?.run === run && answer.held.includes(hold)))
    }
    for (const copy of going) await freed.end(copy, sound, later)
    signal.throwIfAborted()
  }
}

function jobsOf(parts: CopyRunnerParts, lane: Lane): JobKind<DueCopy, CopyAttempt> {
  const { copies, logger } = parts
  const { isFresh, atOnce } = lane
  return {
    name: isFresh ? 'copies' : 'repairs of copies',
    pauses: { firstMs: FIRST_RETRY_MS, longestMs: LONGEST_RETRY_MS },
    batch: { accounts: 1, each: atOnce },
    perAccount: atOnce,
    fullMs: FULL_MS,
    // Copies belong to no account.
    due: async ({ now, each }) => ({ jobs: await copies.due({ isFresh, now, limit: each }), last: null }),
    nextDue: () => copies.nextDue(isFresh),
    isFull: running => lane.isFull() || [...running].length >= atOnce,
    attempt: job => attemptAt(job, parts, lane),
    begin: async ({ job }) => ({ ...job, attempts: job.attempts + 1 }),
    failed: async (_, copy, { error, retryAt }) => {
      const reason = isHoldfastError(error) ? `${error.code}: ${error.message}` : 'INTERNAL_ERROR: the copy failed'
      // After the first attempt, the content may have been removed meanwhile. A node that is away answers for all others.
      if (copy.attempts === 2 && !isHoldfastError(error, 'UNAVAILABLE'))
        logger.warn({ cid: cidOf(copy).toString(), reason, retryAt }, 'content could not be copied yet')
      await copies.retry(copy, retryAt, reason)
    },
  }
}

/**
 * Returns a source that reads blocks from other nodes, or else from this one. After a change of the visibility, this node
 * has the blocks of the ended copy until the next collection. They may be the only sound ones.
 */
function keptBeside(others: BlockSource, own: BlockSource): BlockSource {
  return {
    read: (cid, options) =>
      others.read(cid, options).catch((error: unknown) => {
        options?.signal?.throwIfAborted()
        return own.read(cid, options).catch(() => Promise.reject(error))
      }),
  }
}

function attemptAt(job: DueCopy, { copies, homeOf, readerOf }: CopyRunnerParts, lane: Lane): CopyAttempt {
  const ending = new AbortController()
  const { signal } = ending
  return {
    job,
    abort: reason => ending.abort(reason),
    run: async copy => {
      await lane.begin(signal)
      const nodes = await copies.sourcesOf(copy)
      if (nodes.length === 0) throw new HoldfastError('UNAVAILABLE', 'no other node has the content')
      const home = homeOf(copy.clusterId)
      const source = keptBeside(readerOf(nodes), home.reader)
      const paced: BlockSource = {
        read: async (cid, options) => {
          const bytes = await source.read(cid, options)
          if (await lane.read(bytes.length, signal)) throw new HoldfastError('STORAGE_FULL', 'no room for copies')
          return bytes
        },
      }
      const { staged, stagedRootId, dag } = await takeDag(copy, home, paced, signal)
      try {
        await copies.take(copy, { backendId: home.id, stagedRootId, dag })
      } finally {
        // This keeps a root that is complete.
        await staged.abandon()
      }
    },
  }
}
