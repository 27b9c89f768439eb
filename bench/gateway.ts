import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench, RunOptions, Scale } from './bench.ts'
import { type Clients, clientsFor } from './clients/clients.ts'
import { FileContent, type FormContent, TreeContent } from './content.ts'
import { type Contest, runContest } from './contest.ts'
import { holdfast } from './services/holdfast.ts'
import type { Call } from './services/service.ts'
import {
  gatewayContenders,
  gatewayReader,
  limitReader,
  limitThreadsReader,
  nginxReaders,
  type Reader,
  readingSubject,
  type Source,
  verifiedFetchReader,
} from './subjects/readers.ts'

const MIB = 1024 * 1024
const LARGE_BYTES: Readonly<Record<Scale, number>> = { full: 200 * MIB, quick: 64 * MIB, tiny: 3 * MIB }
const SMALL_BYTES = 4096
const REQUESTS: Readonly<Record<Scale, number>> = { full: 4_000, quick: 1_500, tiny: 32 }
const TREE_FILES: Readonly<Record<Scale, number>> = { full: 1_000, quick: 1_000, tiny: 120 }
const CONNECTIONS = 16
/** Seconds of a round, for load clients that run for a time. */
const SECONDS = 2
const BY_PATH = 'by-path'
const THROUGHPUT = 'throughput'
const RATE = 'requests'

/**
 * Content to read, and the number of requests in a round. The content stays the same, because gateways serve repeated
 * reads.
 */
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

class ReadTree extends TreeContent {
  readonly requests: number
  #filled = false

  constructor(files: number, requests: number) {
    super(files, SMALL_BYTES)
    this.requests = requests
  }

  override refill(): void {
    if (!this.#filled) super.refill()
    this.#filled = true
  }
}

const ours = gatewayReader(holdfast)

const readWhole = (clients: Clients, reader: Reader, name = reader.name) =>
  readingSubject<ReadWork>(reader, name, async ([source], work) => {
    if (source === undefined) throw new Error('the content has no file')
    const { client, seconds, bytes } = await clients.read(source)
    if (bytes !== work.bytes.length) throw new Error(`${name} sent ${bytes} of ${work.bytes.length} bytes`)
    return { client, seconds }
  })

function readOften<W extends FormContent & { requests: number }>(
  clients: Clients,
  reader: Reader,
  { name = reader.name, isNotModified = false } = {},
) {
  return readingSubject<W>(reader, name, (sources, { requests: count }) =>
    clients.hammer({
      calls: isNotModified ? sources.map(revalidation) : sources,
      ...{ connections: CONNECTIONS, seconds: SECONDS, count },
      ...(isNotModified && { status: 304 }),
    }),
  )
}

function revalidation({ method, url, headers, etag }: Source): Call {
  return { method, url, headers: { ...headers, 'if-none-match': etag } }
}

const RATES = {
  unit: '/s',
  better: 'higher',
  value: (_: unknown, seconds: number, done: number) => done / seconds,
} as const

const large = (clients: Clients): Contest<ReadWork> => ({
  metric: THROUGHPUT,
  unit: 'MB/s',
  better: 'higher',
  subjects: [
    readWhole(clients, ours, 'large'),
    ...[limitReader, verifiedFetchReader, ...gatewayContenders(), ...nginxReaders()].map(reader =>
      readWhole(clients, reader),
    ),
  ],
  createWork: scale => new ReadWork(LARGE_BYTES[scale], 1),
  value: (work, seconds) => work.bytes.length / 1e6 / seconds,
})

const small = (clients: Clients): Contest<ReadWork> => ({
  metric: RATE,
  ...RATES,
  subjects: [
    readOften<ReadWork>(clients, ours, { name: 'small' }),
    readOften<ReadWork>(clients, ours, { name: 'not-modified', isNotModified: true }),
    ...[limitReader, limitThreadsReader, verifiedFetchReader, ...gatewayContenders(), ...nginxReaders()].map(reader =>
      readOften<ReadWork>(clients, reader),
    ),
  ],
  createWork: scale => new ReadWork(SMALL_BYTES, REQUESTS[scale]),
})

const byPath = (clients: Clients): Contest<ReadTree> => ({
  metric: BY_PATH,
  ...RATES,
  subjects: [ours, ...gatewayContenders(), ...nginxReaders()].map(reader => readOften<ReadTree>(clients, reader)),
  createWork: scale => new ReadTree(TREE_FILES[scale], REQUESTS[scale]),
})

/** Contest of all subjects. The small-file contest repeats this node's own figure, to compare with older results. */
const notModified = (clients: Clients): Contest<ReadWork> => ({
  metric: 'not-modified',
  ...RATES,
  subjects: [ours, ...gatewayContenders(), ...nginxReaders()].map(reader =>
    readOften<ReadWork>(clients, reader, { isNotModified: true }),
  ),
  createWork: scale => new ReadWork(SMALL_BYTES, REQUESTS[scale]),
})

export const gateway: Bench = {
  name: 'gateway',
  minutes: 2,
  describe: scale =>
    `one file of ${LARGE_BYTES[scale] / MIB} MiB; over ${CONNECTIONS} connections one file of ${SMALL_BYTES / 1024} KiB repeatedly, ` +
    `${TREE_FILES[scale].toLocaleString('en')} files of a directory by path, and unmodified files`,
  targets: [
    { subject: 'large', metric: THROUGHPUT, against: 'limit', atLeast: 0.5 },
    { subject: 'large', metric: THROUGHPUT, against: 'verified-fetch', atLeast: 2 },
    { subject: 'small', metric: RATE, against: 'limit', atLeast: 0.4 },
    { subject: 'small', metric: RATE, against: 'verified-fetch', atLeast: 2 },
    { subject: 'not-modified', metric: RATE, against: 'limit', atLeast: 0.4 },
  ],
  async run(options) {
    const clients = clientsFor(options.scale)
    return [
      ...(await runContest(large(clients), await within(options, 'large'))),
      ...(await runContest(small(clients), await within(options, 'small'))),
      ...(await runContest(byPath(clients), await within(options, 'by-path'))),
      ...(await runContest(notModified(clients), await within(options, 'not-modified'))),
    ]
  },
}

/** Creates a directory for one contest, because several have subjects of the same name. */
async function within(options: RunOptions, name: string): Promise<RunOptions> {
  const dir = join(options.dir, name)
  await mkdir(dir)
  return { ...options, dir }
}
