import { createTestEngine } from '../src/testing/index.ts'
import type { Bench, Scale } from './bench.ts'
import { type Contest, runContest } from './contest.ts'
import { median } from './report.ts'
import { Sizes } from './subjects/service-subject.ts'

const ENGINES: Readonly<Record<Scale, number>> = { full: 50, quick: 20, tiny: 2 }

const contest: Contest<Sizes<number>> = {
  ...{ metric: 'test-engine', unit: 'ms', better: 'lower' },
  subjects: [
    { name: 'engine', start: async () => ({ run: ({ sizes }) => startAndStop(sizes), stop: async () => undefined }) },
  ],
  createWork: scale => new Sizes(ENGINES[scale]),
  value: () => Number.NaN,
}

async function startAndStop(engines: number): Promise<{ value: number; also: Record<string, number> }> {
  const starts: number[] = []
  const stops: number[] = []
  for (let i = 0; i < engines; i++) {
    const began = performance.now()
    const engine = await createTestEngine()
    const started = performance.now()
    await engine.stop()
    starts.push(started - began)
    stops.push(performance.now() - started)
  }
  return { value: median(starts), also: { 'test-engine-stop': median(stops) } }
}

export const testEngine: Bench = {
  name: 'test-engine',
  minutes: 1,
  describe: scale => `median start of ${ENGINES[scale]} engines of createTestEngine, one after the other`,
  targets: [],
  run: options => runContest(contest, options),
}
