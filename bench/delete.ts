import type { Bench, Scale } from './bench.ts'
import { clientsFor } from './clients/clients.ts'
import { type Contest, runContest } from './contest.ts'
import { contenders } from './services/contenders.ts'
import { fill } from './services/filled.ts'
import { holdfast } from './services/holdfast.ts'
import type { Service } from './services/service.ts'
import { Sizes, serviceSubject } from './subjects/service-subject.ts'
import { idleUploads, uploadsDuring, type Waits } from './waits.ts'

const PINS: Readonly<Record<Scale, number>> = { full: 3_000, quick: 1_000, tiny: 20 }
const IDLE_UPLOADS: Readonly<Record<Scale, number>> = { full: 200, quick: 100, tiny: 5 }
const FILE_BYTES = 4 * 1024
const CONNECTIONS = 8

interface Prepared {
  cids: string[]
  idle: Waits
}

function contest(scale: Scale): Contest<Sizes<number>> {
  const clients = clientsFor(scale)
  const parts = {
    async prepare(service: Service, { sizes }: Sizes<number>): Promise<Prepared> {
      const cids = await fill(service, sizes, FILE_BYTES)
      return { cids, idle: await idleUploads(service, IDLE_UPLOADS[scale]) }
    },
    async run(service: Service, { cids, idle }: Prepared) {
      const calls = cids.map(cid => service.remove(cid))
      let client = ''
      const waits = await uploadsDuring(service, async () => {
        client = (await clients.each(calls, CONNECTIONS)).client
      })
      return {
        ...{ client, seconds: waits.seconds, done: calls.length },
        also: { 'upload-idle': idle.median, 'upload-meanwhile': waits.median },
      }
    },
  }
  return {
    ...{ metric: 'deletes', unit: '/s', better: 'higher' },
    subjects: [holdfast, ...contenders()].map(kind => serviceSubject<Sizes<number>, Prepared>(kind, parts)),
    createWork: scale => new Sizes(PINS[scale]),
    value: (_, seconds, done) => done / seconds,
  }
}

export const deletes: Bench = {
  name: 'delete',
  minutes: 4,
  describe: scale =>
    `${PINS[scale].toLocaleString('en')} pins of 4 KiB, deleted one by one over ${CONNECTIONS} connections; ` +
    'medians of uploads of 4 KiB before and meanwhile, ms',
  targets: [],
  run: options => runContest(contest(options.scale), options),
}
