import { mkdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Bench, Measurement, RunOptions, Scale } from './bench.ts'
import { type Clients, clientsFor } from './clients/clients.ts'
import type { Hammering } from './clients/load.ts'
import { type Contest, runContest } from './contest.ts'
import { findProgram } from './programs.ts'
import { fill } from './services/filled.ts'
import { holdfastOn } from './services/holdfast.ts'
import { type Call, call, type Service } from './services/service.ts'
import { Sizes, serviceSubject } from './subjects/service-subject.ts'

const FILES: Readonly<Record<Scale, number>> = { full: 1_000, quick: 500, tiny: 20 }
const FILE_BYTES = 4 * 1024
const CONNECTIONS = 16
const SECONDS = 3

/** Requests to measure, by metric. They load the server's reader threads, its loop, or its disk. */
const QUESTIONS: Readonly<Record<string, (service: Service, cids: readonly string[]) => Partial<Hammering>>> = {
  gateway: ({ read }, cids) => ({ calls: cids.map(cid => known(read)(cid)) }),
  status: ({ status }, cids) => ({ calls: cids.map(cid => known(status)(cid)) }),
  list: ({ list }) => ({ calls: [known(list)(20)] }),
  uploads: service => ({ calls: [service.upload('file')], formBytes: FILE_BYTES }),
}

function known<T>(ability: T | undefined): T {
  if (ability === undefined) throw new Error('the service does not support this request')
  return ability
}

function contest(metric: string, clients: Clients): Contest<Sizes<number>> {
  const ask = known(QUESTIONS[metric])
  const parts = {
    async prepare(service: Service, { sizes }: Sizes<number>, before: Partial<Hammering> | undefined) {
      if (before !== undefined) return before
      const hammering = ask(service, await fill(service, sizes, FILE_BYTES))
      if (metric === 'gateway') await service.startReading?.()
      const [first] = hammering.calls ?? []
      if (first !== undefined && hammering.formBytes === undefined) await call(first as Call)
      return hammering
    },
    run: (_: Service, hammering: Partial<Hammering>) =>
      clients.hammer({ calls: [], connections: CONNECTIONS, seconds: SECONDS, count: 100, ...hammering }),
  }
  const counts = availableParallelism() > 1 ? [1, 2] : [1]
  return {
    ...{ metric, unit: '/s', better: 'higher' },
    subjects: counts.map(cores => serviceSubject<Sizes<number>, Partial<Hammering>>(holdfastOn(cores), parts)),
    createWork: scale => new Sizes(FILES[scale]),
    value: (_, seconds, done) => done / seconds,
  }
}

async function run(options: RunOptions): Promise<Measurement[]> {
  if (findProgram('taskset') === null) throw new Error('taskset is not installed')
  const clients = clientsFor(options.scale)
  const measurements: Measurement[] = []
  for (const metric of Object.keys(QUESTIONS)) {
    const dir = join(options.dir, metric)
    await mkdir(dir)
    measurements.push(...(await runContest(contest(metric, clients), { ...options, dir })))
  }
  return measurements
}

/** Measures the server on one core and on two. A model derives the rate on more. */
export const cores: Bench = {
  name: 'cores',
  minutes: 3,
  describe: () =>
    'rates on one core and on two: files of 4 KiB by CID, status, a list of 20 and uploads of 4 KiB, ' +
    '16 connections',
  targets: [],
  run,
}
