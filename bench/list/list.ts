import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench, Measurement, RunOptions, Scale, Target } from '../bench.ts'
import { runContest } from '../contest.ts'
import { median } from '../report.ts'
import { type FilledEngine, filledStore, SAMPLES } from './filled-engine.ts'
import { httpList } from './http.ts'

const FEW = 1_000
const MANY: Readonly<Record<Scale, number>> = { full: 1_000_000, quick: 100_000, tiny: 5_000 }
const PAGE = 100

/** Queries, and the largest ratio of their times at many records to those at few; null for no goal. */
const QUESTIONS: ReadonlyArray<{
  metric: string
  atMost: number | null
  ask(filled: FilledEngine, last: number): Promise<unknown>
}> = [
  {
    metric: 'status',
    atMost: 1.5,
    ask: ({ engine, account, cids }) => engine.pins.status({ account, cid: some(cids) }),
  },
  { metric: 'cid', atMost: 1.5, ask: ({ engine, account, cids }) => engine.pins.list({ account, cid: some(cids) }) },
  {
    metric: 'parentCid',
    atMost: 1.5,
    ask: ({ engine, account, parent }) => engine.pins.list({ account, parentCid: parent }),
  },
  {
    metric: 'last-page',
    atMost: 1.5,
    ask: ({ engine, account }, page) => engine.pins.list({ account, page, limit: PAGE }),
  },
  {
    metric: 'middle-page',
    atMost: null,
    ask: ({ engine, account }, last) => engine.pins.list({ account, page: Math.ceil(last / 2), limit: PAGE }),
  },
  {
    metric: 'hasExpiration',
    atMost: 3,
    ask: ({ engine, account }) => engine.pins.list({ account, hasExpiration: true }),
  },
  { metric: 'q', atMost: 1.5, ask: ({ engine, account }) => engine.pins.list({ account, q: 'NEEDLE' }) },
  {
    metric: 'name',
    atMost: 1.5,
    ask: ({ engine, account }) => engine.pins.list({ account, name: 'FILE 500', match: 'iexact' }),
  },
  { metric: 'meta', atMost: 1.5, ask: ({ engine, account }) => engine.pins.list({ account, meta: { found: 'yes' } }) },
  {
    metric: 'delete',
    atMost: 1.5,
    ask: ({ engine, account, cids }) => engine.pins.remove({ account, cid: cids.pop() ?? '' }),
  },
]

/** Returns the median time of each query in microseconds, after a warm-up. */
export async function askStore(filled: FilledEngine, records: number): Promise<Array<[string, number]>> {
  const last = Math.ceil(records / PAGE) - 1
  const asked: Array<[string, number]> = []
  for (const { metric, ask } of QUESTIONS) {
    if (metric !== 'delete') await ask(filled, last)
    asked.push([metric, await medianOf(() => ask(filled, last))])
  }
  return asked
}

/** Returns a different CID at each call. */
function some(cids: string[]): string {
  const cid = cids.shift() ?? ''
  cids.splice(Math.floor(cids.length / 2), 0, cid)
  return cid
}

export const list: Bench = {
  name: 'list',
  minutes: 3,
  describe: scale =>
    `questions to an account of ${FEW.toLocaleString('en')} and of ${MANY[scale].toLocaleString('en')} records; a page ` +
    'of 20 over HTTP',
  targets: QUESTIONS.flatMap(({ metric, atMost }): Target[] =>
    atMost === null ? [] : [{ subject: 'many', metric, against: 'few', atLeast: Number((1 / atMost).toPrecision(2)) }],
  ),
  async run(options: RunOptions): Promise<Measurement[]> {
    const measurements: Measurement[] = []
    if (isAskedFor(['few', 'many'], options)) measurements.push(...(await inProcess(options)))
    if (isAskedFor(['http', 'fastify'], options)) {
      const dir = join(options.dir, 'http')
      await mkdir(dir)
      measurements.push(...(await runContest(httpList(options.scale), { ...options, dir })))
    }
    return measurements
  },
}

function isAskedFor(names: readonly string[], { subjects }: RunOptions): boolean {
  return subjects === undefined || names.some(name => subjects.includes(name))
}

async function inProcess(options: RunOptions): Promise<Measurement[]> {
  const subjects: Array<{ name: string; filled: FilledEngine; last: number }> = []
  try {
    for (const [name, records] of [
      ['few', FEW],
      ['many', MANY[options.scale]],
    ] as const) {
      options.progress(`filling ${records} records`)
      const dir = join(options.dir, name)
      await mkdir(dir)
      const filled = await filledStore(dir, records, SAMPLES * (options.rounds + 2))
      subjects.push({ name, filled, last: Math.ceil(records / PAGE) - 1 })
      options.signal.throwIfAborted()
    }
    return await measured(subjects, options)
  } finally {
    for (const { filled } of subjects) await filled.engine.stop()
  }
}

async function measured(
  subjects: ReadonlyArray<{ name: string; filled: FilledEngine; last: number }>,
  { rounds, progress, signal }: RunOptions,
): Promise<Measurement[]> {
  const values = new Map<string, number[]>()
  for (let round = -1; round < rounds; round++) {
    progress(`round ${round + 1} of ${rounds}`)
    for (const { metric, ask } of QUESTIONS) {
      for (const { name, filled, last } of round % 2 === 0 ? subjects : subjects.toReversed()) {
        signal.throwIfAborted()
        const micros = await medianOf(() => ask(filled, last))
        const key = `${name} ${metric}`
        // The first round is a warm-up.
        if (round >= 0) values.set(key, [...(values.get(key) ?? []), micros])
      }
    }
  }
  return subjects.flatMap(({ name }) =>
    QUESTIONS.map(({ metric }) => ({
      subject: name,
      metric,
      unit: 'µs',
      better: 'lower' as const,
      values: values.get(`${name} ${metric}`) ?? [],
    })),
  )
}

/** Returns microseconds. */
async function medianOf(ask: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < SAMPLES; i++) {
    const started = performance.now()
    await ask()
    times.push((performance.now() - started) * 1_000)
  }
  return median(times)
}
