import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench, RunOptions, Scale } from './bench.ts'
import { FileContent } from './content.ts'
import { type Contest, runContest } from './contest.ts'
import { holdfastReader, limitReader, type Reader, readingSubject, verifiedFetchReader } from './subjects/readers.ts'

const MIB = 1024 * 1024
const LARGE_BYTES: Readonly<Record<Scale, number>> = { full: 200 * MIB, quick: 64 * MIB, tiny: 3 * MIB }
const SMALL_BYTES = 4096
const REQUESTS: Readonly<Record<Scale, number>> = { full: 4_000, quick: 1_500, tiny: 32 }
const CONNECTIONS = 16
const THROUGHPUT = 'throughput'
const RATE = 'requests'

/** What is read, and how often in a round. It stays the same: a gateway reads again what is there. */
class ReadWork extends FileContent {
  readonly requests: number
  #filled = false

  constructor(size: number, requests: number) {
    super(size)
    this.requests = requests
  }

  override refill(): void {
    if (!this.#filled) super.refill()
    this.#filled = true
  }
}

const readWhole = (name: string, reader: Reader) =>
  readingSubject<ReadWork>(name, reader, 1, async (source, work) => {
    const bytes = await source.skim(200)
    if (bytes !== work.bytes.length) throw new Error(`${name} sent ${bytes} of ${work.bytes.length} bytes`)
  })

const readOften = (name: string, reader: Reader, status: 200 | 304 = 200) =>
  readingSubject<ReadWork>(name, reader, CONNECTIONS, async (source, work) => {
    let left = work.requests
    const readOn = async (): Promise<void> => {
      while (left-- > 0) await source.skim(status)
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, readOn))
  })

const large: Contest<ReadWork> = {
  metric: THROUGHPUT,
  unit: 'MB/s',
  better: 'higher',
  subjects: [
    readWhole('large', holdfastReader),
    readWhole('limit', limitReader),
    readWhole('verified-fetch', verifiedFetchReader),
  ],
  createWork: scale => new ReadWork(LARGE_BYTES[scale], 1),
  value: (work, seconds) => work.bytes.length / 1e6 / seconds,
}

const small: Contest<ReadWork> = {
  metric: RATE,
  unit: '/s',
  better: 'higher',
  subjects: [
    readOften('small', holdfastReader),
    readOften('not-modified', holdfastReader, 304),
    readOften('limit', limitReader),
    readOften('verified-fetch', verifiedFetchReader),
  ],
  createWork: scale => new ReadWork(SMALL_BYTES, REQUESTS[scale]),
  value: (work, seconds) => work.requests / seconds,
}

/** Reading through the gateway, over HTTP from another process. */
export const gateway: Bench = {
  name: 'gateway',
  minutes: 2,
  describe: scale =>
    `one file of ${LARGE_BYTES[scale] / MIB} MiB, and ${REQUESTS[scale]} times one of ${SMALL_BYTES / 1024} KiB ` +
    `over ${CONNECTIONS} connections`,
  targets: [
    { subject: 'large', metric: THROUGHPUT, against: 'limit', atLeast: 0.5 },
    { subject: 'large', metric: THROUGHPUT, against: 'verified-fetch', atLeast: 2 },
    { subject: 'small', metric: RATE, against: 'limit', atLeast: 0.4 },
    { subject: 'small', metric: RATE, against: 'verified-fetch', atLeast: 2 },
    { subject: 'not-modified', metric: RATE, against: 'limit', atLeast: 0.4 },
  ],
  run: async options => [
    ...(await runContest(large, await within(options, 'large'))),
    ...(await runContest(small, await within(options, 'small'))),
  ],
}

/** The contests have subjects of the same names, each of which wants a directory of its own. */
async function within(options: RunOptions, name: string): Promise<RunOptions> {
  const dir = join(options.dir, name)
  await mkdir(dir)
  return { ...options, dir }
}
