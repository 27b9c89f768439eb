import { setTimeout as sleep } from 'node:timers/promises'
import type { Dag } from '../../pins/fetches/support/dags.ts'
import { randomFile } from '../../pins/fetches/support/dags.ts'
import type { AbusedServer } from '../abused-server.ts'
import {
  doublingDirectory,
  doublingFile,
  flatDirectory,
  manyNamesForOneLargeBlock,
  nestedDirectories,
  nestedDocument,
  nestedShards,
} from '../dags.ts'
import type { AbuseRow } from '../row.ts'

const MiB = 1024 ** 2

/** Returns a row that reads stored content without a credential, completely or in part. */
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
  slowReaders(),
]

/** Opens more slow readers from one address than the gateway has slots. Another address must still be served. */
function slowReaders(): AbuseRow {
  const READERS = 100
  let root = ''
  return {
    name: 'more slow readers from one address than slots',
    answers: [200],
    setUp: async server => {
      root = await server.store(randomFile(12, 1_000_000, 'slow'))
    },
    request: async server => {
      const sockets = await Promise.all(Array.from({ length: READERS }, () => slowReader(server, root)))
      const headers = { 'x-forwarded-for': '203.0.113.2' }
      let another = await server.ask(`/ipfs/${root}`, { headers })
      // The gateway needs a while to see that a reader is slow. A refused client retries after `Retry-After`.
      for (let tries = 0; another.status === 503 && tries < 3; tries++) {
        await sleep(1_000 * Number(another.headers['retry-after']))
        another = await server.ask(`/ipfs/${root}`, { headers })
      }
      for (const socket of sockets) socket.destroy()
      return another.status
    },
  }
}

/** Requests content and reads nothing of the answer. */
async function slowReader(server: AbusedServer, root: string) {
  const socket = await server.connection()
  socket.on('error', () => {}).pause()
  socket.write(`GET /ipfs/${root} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: 203.0.113.1\r\n\r\n`)
  return socket
}
