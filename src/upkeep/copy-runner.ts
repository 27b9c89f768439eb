import type { Copies, CopyPlace, DueCopy } from '../catalogue/copies.ts'
import type { StagingBackend } from '../clusters/staging-backend.ts'
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
  /** Backend of this node for the content of other nodes. */
  home: StagingBackend
  /** Returns a reader of the nodes with these ids, which have the same content. */
  readerOf: (nodes: readonly string[]) => BlockSource
  /** Asks a node which holds its ledger has; null if it does not answer. */
  holdsOn: (node: string, holds: readonly string[]) => Promise<{ run: string; held: readonly string[] } | null>
  clock: Clock
  logger: Logger
}

/** Copies that are made concurrently. */
const AT_ONCE = 16
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
  readonly #runner: JobRunner<DueCopy, CopyAttempt>
  readonly #walk: WokenWork

  constructor(parts: CopyRunnerParts) {
    const { copies, clock, logger } = parts
    this.#runner = new JobRunner(jobsOf(parts), { clock, logger })
    const walk = async (signal: AbortSignal): Promise<void> => {
      while (await copies.compare()) signal.throwIfAborted()
      while (await copies.promote()) signal.throwIfAborted()
      while (await copies.walk()) signal.throwIfAborted()
      this.#runner.wake()
      await freeAll(parts, signal)
    }
    this.#walk = new WokenWork(walk, {
      name: 'walk of copies',
      failed: warned(logger, 'a change of the wanted copies was not followed yet; it is retried'),
    })
  }

  wake(): void {
    this.#walk.wake()
    this.#runner.wake()
  }

  unsettled(): Promise<string[]> {
    return unsettled([this.#walk, this.#runner])
  }

  async stop(): Promise<void> {
    await Promise.all([this.#walk.stop(), this.#runner.stop()])
  }
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

function jobsOf(parts: CopyRunnerParts): JobKind<DueCopy, CopyAttempt> {
  const { copies, logger } = parts
  return {
    name: 'copies',
    pauses: { firstMs: FIRST_RETRY_MS, longestMs: LONGEST_RETRY_MS },
    batch: { accounts: 1, each: AT_ONCE },
    perAccount: AT_ONCE,
    fullMs: FULL_MS,
    // Copies belong to no account.
    due: async ({ now, each }) => ({ jobs: await copies.due(now, each), last: null }),
    nextDue: () => copies.nextDue(),
    isFull: running => [...running].length >= AT_ONCE,
    attempt: job => attemptAt(job, parts),
    begin: async ({ job }) => ({ ...job, attempts: job.attempts + 1 }),
    failed: async (_, copy, { error, retryAt }) => {
      const reason = isHoldfastError(error) ? `${error.code}: ${error.message}` : 'INTERNAL_ERROR: the copy failed'
      logger.warn({ cid: cidOf(copy).toString(), reason, retryAt }, 'content could not be copied yet')
      await copies.retry(copy, retryAt, reason)
    },
  }
}

function attemptAt(job: DueCopy, { copies, home, readerOf }: CopyRunnerParts): CopyAttempt {
  const ending = new AbortController()
  return {
    job,
    abort: reason => ending.abort(reason),
    run: async copy => {
      const nodes = await copies.sourcesOf(copy)
      if (nodes.length === 0) throw new HoldfastError('UNAVAILABLE', 'no other node has the content')
      const { staged, stagedRootId, dag } = await takeDag(copy, home, readerOf(nodes), ending.signal)
      try {
        await copies.take(copy, { backendId: home.id, stagedRootId, dag })
      } finally {
        // A complete root is not abandoned.
        await staged.abandon()
      }
    },
  }
}
