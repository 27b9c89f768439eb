import type { Dag } from '../../fetch/support/dags.ts'
import {
  doublingDirectory,
  doublingFile,
  doublingShards,
  flatDirectory,
  manyNamesForOneLargeBlock,
  nestedDirectories,
  nestedDocument,
  nestedShards,
} from '../dags.ts'
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

const html = { accept: 'text/html' }

export const rows: readonly AbuseRow[] = [
  reading('a TAR of ten thousand small files', () => flatDirectory(10_000, 'tar'), {
    query: '?format=tar',
    answers: [200],
  }),
  reading('a CAR of ten thousand small blocks', () => flatDirectory(10_000, 'tar'), {
    query: '?format=car',
    answers: [200],
  }),
  reading('a file that doubles with each of its 25 blocks', () => doublingFile(24), {
    leaveAfter: 4 * MiB,
    answers: [200],
  }),
  reading('a TAR of a directory that doubles with each of its 60 blocks', () => doublingDirectory(60), {
    query: '?format=tar',
    leaveAfter: 4 * MiB,
    answers: [200],
  }),
  reading('a listing of 500 names for one block of 3.8 MB', () => manyNamesForOneLargeBlock(500, 80_000), {
    query: '/',
    headers: html,
    answers: [200],
  }),
  reading('a page of a document a thousand levels deep with many lines', () => nestedDocument(950, 190_000), {
    headers: html,
    answers: [200],
  }),
  reading('a page of a document three thousand levels deep', () => nestedDocument(3_000, 1), {
    headers: html,
    answers: [200],
  }),
  reading('a TAR of 2,600 directories one in the other', () => nestedDirectories(2_600), {
    query: '?format=tar',
    answers: [200],
  }),
  reading('a listing of shards ten thousand deep', () => nestedShards(10_000), {
    query: '/',
    headers: html,
    answers: [200, 400],
  }),
  reading(
    'a listing of shards that double with each of their 20 blocks and have no entries',
    () => doublingShards(19),
    {
      query: '/',
      headers: html,
      answers: [413],
    },
  ),
  reading('a CAR with repeats of a file that doubles with each of its 25 blocks', () => doublingFile(24), {
    query: '?format=car&car-dups=y',
    leaveAfter: 4 * MiB,
    answers: [200],
  }),
]
