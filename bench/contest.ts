import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Cost, Measurement, RunOptions, Scale } from './bench.ts'
import { endedChildrenSeconds, UsageWatch } from './usage.ts'

/** What is to be done in a round, the same for every subject. */
export interface Work {
  /** Makes the content new, so that no store can have it already. */
  refill(): void
}

export interface Subject<W extends Work> {
  readonly name: string
  /** Starts it with an empty directory of its own, which it keeps over all rounds. */
  start(dir: string): Promise<RunningSubject<W>>
}

/** What there is to say of the timed part. */
export interface Outcome {
  /** Of what was stored; all that say one have to say the same. */
  cid?: string
  /** By the load client's clock, which leaves out its own start; else by the bench's. */
  seconds?: number
  /** How often it was done, where the load client goes by time. */
  done?: number
  /** The figure itself, where it follows neither from the time nor from how often. */
  value?: number
  /** Further figures by their metrics, times in milliseconds, less being better. */
  also?: Readonly<Record<string, number>>
  /** The load client, where it is not the bench itself. */
  client?: string
}

export interface RunningSubject<W extends Work> {
  /** Processes of its own, whose processor time and memory are its. */
  readonly pids?: readonly number[]
  /** What has to be there before the timed part, and is not timed itself. */
  prepare?(work: W): Promise<void>
  /** The timed part. */
  run(work: W): Promise<Outcome>
  /** What has to happen between rounds and is not timed. */
  tidy?(): Promise<void>
  stop(): Promise<void>
}

/** Subjects that do the same work in the same rounds and are compared by one figure. */
export interface Contest<W extends Work> {
  readonly metric: string
  readonly unit: string
  readonly better: 'higher' | 'lower'
  readonly subjects: ReadonlyArray<Subject<W>>
  createWork(scale: Scale): W
  /** The figure that a subject reached with this work in that time, which was done so often. */
  value(work: W, seconds: number, done: number): number
}

/**
 * Runs a contest: after a tiny warm-up, each round gives the same fresh content to every subject, in an order that
 * moves on by one each round. Subjects that make a CID have to agree on it.
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

/** Has pending writes flushed, so that a subject that does not wait for the disk leaves no work to the next one. */
export async function settleDisk(): Promise<void> {
  if (process.platform === 'win32') return
  await promisify(execFile)('sync').catch(() => undefined)
}
