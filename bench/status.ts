import type { Bench, Scale } from './bench.ts'
import { clientsFor } from './clients/clients.ts'
import { type Contest, runContest } from './contest.ts'
import { contenders } from './services/contenders.ts'
import { fill } from './services/filled.ts'
import { holdfast } from './services/holdfast.ts'
import { type Call, call } from './services/service.ts'
import { Sizes, serviceSubject } from './subjects/service-subject.ts'

const PINS: Readonly<Record<Scale, number>> = { full: 6_000, quick: 2_000, tiny: 20 }
const FILE_BYTES = 4 * 1024
const CONNECTIONS = 16
const SECONDS = 2

function contest(scale: Scale): Contest<Sizes<number>> {
  const clients = clientsFor(scale)
  const parts = {
    async prepare(service: Parameters<typeof fill>[0], { sizes }: Sizes<number>, before: Call[] | undefined) {
      if (before !== undefined) return before
      const status = service.status
      if (status === undefined) throw new Error('the service has no status')
      const calls = (await fill(service, sizes, FILE_BYTES)).map(cid => status(cid))
      // Checks that the service knows the CIDs that the bench has calculated.
      for (const one of [calls[0], calls.at(-1)]) if (one !== undefined) await call(one)
      return calls
    },
    run: (_: unknown, calls: Call[]) =>
      clients.hammer({ calls, connections: CONNECTIONS, seconds: SECONDS, count: calls.length }),
  }
  return {
    ...{ metric: 'look-ups', unit: '/s', better: 'higher' },
    subjects: [holdfast, ...contenders()].map(kind => serviceSubject(kind, parts)),
    createWork: scale => new Sizes(PINS[scale]),
    value: (_, seconds, done) => done / seconds,
  }
}

export const status: Bench = {
  name: 'status',
  minutes: 2,
  describe: scale => `status by CID at ${PINS[scale].toLocaleString('en')} pins, over ${CONNECTIONS} connections`,
  targets: [],
  run: options => runContest(contest(options.scale), options),
}
