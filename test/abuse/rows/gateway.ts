import type { Dag } from '../../fetch/support/dags.ts'
import { doublingDirectory, doublingFile, flatDirectory } from '../dags.ts'
import type { AbuseRow } from '../row.ts'

const MiB = 1024 ** 2

/** A row that reads stored content without a credential, some of it or all. */
function reading(
  name: string,
  make: () => Dag,
  row: {
    query?: string
    headers?: Record<string, string>
    leaveAfter?: number
    answers: readonly number[]
  },
): AbuseRow {
  const { query = '', headers = {}, leaveAfter, answers } = row
  let root = ''
  return {
    name,
    answers,
    setUp: async server => {
      root = await server.store(make())
    },
    request: async server => {
      const left = leaveAfter === undefined ? {} : { leaveAfter }
      return (await server.ask(`/ipfs/${root}${query}`, { headers, ...left })).status
    },
  }
}

export const rows: readonly AbuseRow[] = [
  reading('a TAR of ten thousand small files', () => flatDirectory(10_000, 'tar'), {
    query: '?format=tar',
    answers: [200],
  }),
  reading('a CAR of ten thousand small blocks', () => flatDirectory(10_000, 'tar'), {
    query: '?format=car',
    answers: [200],
  }),
  reading('a file that doubles with each of its 27 blocks', () => doublingFile(26), {
    leaveAfter: 4 * MiB,
    answers: [200],
  }),
  reading('a TAR of a directory that doubles with each of its 60 blocks', () => doublingDirectory(60), {
    query: '?format=tar',
    leaveAfter: 4 * MiB,
    answers: [200],
  }),
]
