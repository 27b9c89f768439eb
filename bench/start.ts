import type { Bench, Scale } from './bench.ts'
import { type Contest, runContest, type Subject } from './contest.ts'
import { fill } from './services/filled.ts'
import { holdfast } from './services/holdfast.ts'
import { kuboKinds } from './services/kubo.ts'
import type { Service, ServiceKind } from './services/service.ts'
import { Sizes } from './subjects/service-subject.ts'

const PINS: Readonly<Record<Scale, number>> = { full: 3_000, quick: 1_000, tiny: 20 }

function starting({ name, start }: ServiceKind): Subject<Sizes<number>> {
  return {
    name,
    async start(dir) {
      let isFilled = false
      let running: Service | null = null
      return {
        async prepare({ sizes }) {
          if (isFilled) return
          isFilled = true
          const service = await start(dir)
          await fill(service, sizes, 4 * 1024).finally(() => service.stop())
        },
        async run() {
          const began = performance.now()
          running = await start(dir)
          const value = performance.now() - began
          return { value }
        },
        async tidy() {
          await running?.stop()
          running = null
        },
        stop: async () => running?.stop(),
      }
    },
  }
}

const contest: Contest<Sizes<number>> = {
  ...{ metric: 'start', unit: 'ms', better: 'lower' },
  subjects: [],
  createWork: scale => new Sizes(PINS[scale]),
  value: () => Number.NaN,
}

export const start: Bench = {
  name: 'start',
  minutes: 1,
  describe: scale =>
    `from the command to an address that answers, on a data directory with ${PINS[scale].toLocaleString('en')} pins`,
  targets: [],
  run: options => runContest({ ...contest, subjects: [holdfast, ...kuboKinds()].map(starting) }, options),
}
