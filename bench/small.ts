import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench, Scale } from './bench.ts'
import { clientsFor } from './clients/clients.ts'
import { type Contest, runContest, type Subject } from './contest.ts'
import { contenders } from './services/contenders.ts'
import { holdfast } from './services/holdfast.ts'
import { plain } from './services/plain.ts'
import { Sizes } from './subjects/service-subject.ts'

const FILE_BYTES = 4 * 1024
const COUNT: Readonly<Record<Scale, number>> = { full: 2_000, quick: 1_000, tiny: 20 }
const SECONDS: Readonly<Record<Scale, number>> = { full: 3, quick: 2, tiny: 1 }
const AT_ONCE = [
  { metric: 'one-by-one', connections: 1 },
  { metric: 'sixteen-at-once', connections: 16 },
] as const

function contest(scale: Scale, { metric, connections }: (typeof AT_ONCE)[number]): Contest<Sizes<number>> {
  const clients = clientsFor(scale)
  const subjects = [holdfast, plain, ...contenders()].map(
    ({ name, start }): Subject<Sizes<number>> => ({
      name,
      async start(dir) {
        const service = await start(dir)
        return {
          pids: service.pids,
          run: ({ sizes: count }) =>
            clients.hammer({
              calls: [service.upload('file')],
              ...{ connections, seconds: SECONDS[scale], count, formBytes: FILE_BYTES },
            }),
          stop: () => service.stop(),
        }
      },
    }),
  )
  return {
    ...{ metric, unit: '/s', better: 'higher', subjects },
    createWork: scale => new Sizes(COUNT[scale]),
    value: (_, seconds, done) => done / seconds,
  }
}

export const small: Bench = {
  name: 'small',
  minutes: 5,
  describe: () => `uploads of one file of ${FILE_BYTES / 1024} KiB, one by one and 16 at once`,
  targets: [],
  async run(options) {
    const measurements = []
    for (const way of AT_ONCE) {
      const dir = join(options.dir, way.metric)
      await mkdir(dir)
      measurements.push(...(await runContest(contest(options.scale, way), { ...options, dir })))
    }
    return measurements
  },
}
