import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Cost, Measurement, RunOptions, Scale } from './bench.ts'
import { endedChildrenSeconds, UsageWatch } from './usage.ts'

/** Work of a round, the same for every subject. */
export interface Work {
  /** Replaces the content with new bytes, so that no store has it already. */
  refill(): void
}

export interface Subject<W extends Work> {
  readonly name: string
  /** Starts the subject in an empty directory, which it keeps for all rounds. */
  start(dir: string): Promise<RunningSubject<W>>
}

/** Result of the timed part of a round. */
export interface Outcome {
  /** Root of the stored content. All subjects that return one must agree. */
  cid?: string
  /** Time by the load client's clock, which excludes its start; by default the bench's clock. */
  seconds?: number
  /** Number of requests, if the load client runs for a time. */
  done?: number
  /** The figure itself, if it follows neither from time nor from number. */
  value?: number
  /** Further metrics in milliseconds; less is better. */
  also?: Readonly<Record<string, number>>
  /** Name of the load client if it is not the bench itself. */
  client?: string
}

export interface RunningSubject<W extends Work> {
  /** Their processor time and memory are measured. */
  readonly pids?: readonly number[]
  /** Runs before the timed part. */
  prepare?(work: W): Promise<void>
  run(work: W): Promise<Outcome>
  /** Runs between rounds, not timed. */
  tidy?(): Promise<void>
  stop(): Promise<void>
}

/** Subjects that do the same work in the same rounds, compared by one figure. */
export interface Contest<W extends Work> {
  readonly metric: string
  readonly unit: string
  readonly better: 'higher' | 'lower'
  readonly subjects: ReadonlyArray<Subject<W>>
  createWork(scale: Scale): W
  value(work: W, seconds: number, done: number): number
}

/**
 * Runs a contest. After a tiny warm-up, every round gives all subjects the same new content, in a rotating order.
 * Subjects that return a CID must agree on it.
 */
export async function runContest<W extends Work>(contest: Contest<W>, options: RunOptions): Promise<Measurement[]> {
  const racers: Racer<W>[] = []
  try {
    for (const subject of contest.subjects) {
      if (options.subjects?.includes(subject.name) === false) continue
      options.signal.throwIfAborted()
      const dir = join(options.dir, subject.name)
      await mkdir(dir)
      racers.push({ name: subject.name, running: await subject.start(dir), values: [], costs: [], also: new Map() })
    }
    await runRound(contest, racers, contest.createWork('tiny'), options, 'warm-up')
    for (const racer of racers) {
      racer.values.length = racer.costs.length = 0
      racer.also.clear()
    }
    const work = contest.createWork(options.scale)
    for (let round = 0; round < options.rounds; round++) {
      await runRound(contest, rotated(racers, round), work, options, `round ${round + 1} of ${options.rounds}`)
    }
  } finally {
    for (const { running } of racers.toReversed()) await running.stop()
  }
  const { metric, unit, better } = contest
  return racers.flatMap(({ name, values, costs, client, also }): Measurement[] => [
    {
      ...{ subject: name, metric, unit, better, values },
      ...(costs.length > 0 && { costs }),
      ...(client !== undefined && { client }),
    },
    ...[...also].map(
      ([metric, values]): Measurement => ({ subject: name, metric, unit: 'ms', better: 'lower', values }),
    ),
  ])
}

interface Racer<W extends Work> {
  name: string
  running: RunningSubject<W>
  values: number[]
  costs: Cost[]
  also: Map<string, number[]>
  client?: string
}

async function runRound<W extends Work>(
  contest: Contest<W>,
  racers: ReadonlyArray<Racer<W>>,
  work: W,
  options: RunOptions,
  label: string,
): Promise<void> {
  work.refill()
  const cids = new Map<string, string>()
  for (const racer of racers) {
    const { name, running } = racer
    await running.prepare?.(work)
    await settleDisk()
    options.signal.throwIfAborted()
    options.progress(`${label}: ${name}`)
    const watch = UsageWatch.start(running.pids)
    const clientBefore = endedChildrenSeconds()
    const started = performance.now()
    const { cid, client, done = 1, ...outcome } = await running.run(work)
    const elapsed = (performance.now() - started) / 1_000
    const seconds = outcome.seconds ?? elapsed
    const value = outcome.value ?? contest.value(work, seconds, done)
    for (const [metric, further] of Object.entries(outcome.also ?? {})) {
      racer.also.set(metric, [...(racer.also.get(metric) ?? []), further])
    }
    racer.values.push(value)
    if (watch !== null) {
      const usage = watch.usage()
      const amount = contest.better === 'higher' ? value * seconds : 1
      racer.costs.push({ ...usage, amount, clientShare: (endedChildrenSeconds() - clientBefore) / elapsed })
    }
    if (client !== undefined) racer.client = client
    if (cid !== undefined) cids.set(name, cid)
    await running.tidy?.()
  }
  if (new Set(cids.values()).size > 1) {
    throw new Error(
      `the subjects disagree about the CID: ${[...cids].map(([name, cid]) => `${name} ${cid}`).join(', ')}`,
    )
  }
}

export function rotated<T>(items: readonly T[], by: number): T[] {
  const start = items.length === 0 ? 0 : by % items.length
  return [...items.slice(start), ...items.slice(0, start)]
}

/** Flushes pending writes, so that one subject's writes do not burden the next. */
export async function settleDisk(): Promise<void> {
  if (process.platform === 'win32') return
  await promisify(execFile)('sync').catch(() => undefined)
}
