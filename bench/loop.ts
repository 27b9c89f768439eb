import { randomFillSync } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CarWriter } from '@ipld/car'
import * as dagCbor from '@ipld/dag-cbor'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import type { Bench, Measurement, RunOptions, Scale } from './bench.ts'
import { HealthWatch } from './health-watch.ts'
import { LoadedServer } from './loaded-server.ts'

const MIB = 1024 * 1024

interface Size {
  /** Number of files in the directory that is read as an archive. */
  archived: number
  /** Number of small blocks to upload, verify and collect. */
  blocks: number
  uploadBytes: number
  /** Number of pins with a block that exists nowhere. */
  deadPins: number
  /** Number of records of the same CID. */
  records: number
  idleMs: number
}

const SIZES: Readonly<Record<Scale, Size>> = {
  full: { archived: 10_000, blocks: 100_000, uploadBytes: 512 * MIB, deadPins: 10_000, records: 10_000, idleMs: 5_000 },
  quick: { archived: 2_000, blocks: 10_000, uploadBytes: 64 * MIB, deadPins: 1_000, records: 1_000, idleMs: 2_000 },
  tiny: { archived: 50, blocks: 200, uploadBytes: 2 * MIB, deadPins: 20, records: 20, idleMs: 200 },
}
const METRIC = 'longest-wait'
/** In ms. On an idle machine nobody should wait longer. */
const BOUND_MS = 100
const UPLOADS = 4
const ROOTS_IN_A_CAR = 100
const REQUESTS_AT_ONCE = 8

interface Work {
  subject: string
  /** Prepares the work, untimed. Resolves with a function that does it. */
  prepare(server: LoadedServer, size: Size): Promise<() => Promise<void>>
}

const archive = (format: 'tar' | 'car'): Work => ({
  subject: format,
  prepare: async (server, size) => {
    const cid = await server.uploadDirectory(size.archived)
    return () => server.read(cid, format)
  },
})

const WORKS: readonly Work[] = [
  {
    subject: 'idle',
    prepare:
      async (_, { idleMs }) =>
      () =>
        sleep(idleMs),
  },
  archive('tar'),
  archive('car'),
  {
    subject: 'form',
    prepare:
      async (server, { blocks }) =>
      async () =>
        void (await server.uploadDirectory(blocks)),
  },
  {
    subject: 'verify',
    prepare: async (server, { blocks }) => {
      await server.uploadDirectory(blocks)
      return () => server.call('POST', '/admin/v1/verify')
    },
  },
  {
    subject: 'collect',
    prepare: async (server, { blocks }) => {
      await server.remove(await server.uploadDirectory(blocks))
      return () => server.call('POST', '/admin/v1/gc', { graceSeconds: 0 })
    },
  },
  {
    subject: 'uploads',
    prepare: async (server, { uploadBytes }) => {
      const bytes = randomFillSync(Buffer.alloc(uploadBytes + UPLOADS))
      // Each content starts one byte later, so that no two share a block.
      const contents = Array.from({ length: UPLOADS }, (_, at) => bytes.subarray(at, at + uploadBytes))
      return async () => void (await Promise.all(contents.map(content => server.uploadFile(content))))
    },
  },
  {
    subject: 'dead-pins',
    prepare: async (server, { deadPins, idleMs }) => {
      for (let left = deadPins; left > 0; left -= ROOTS_IN_A_CAR) {
        await server.importPartial(await deadCar(Math.min(left, ROOTS_IN_A_CAR)))
      }
      return () => sleep(idleMs)
    },
  },
  {
    subject: 'delete',
    prepare: async (server, { records }) => {
      const cid = await server.uploadFile(Buffer.from('content of many records'))
      await repeat(records, index => server.call('POST', `/api/v3/files/pin/${cid}`, { customName: `name ${index}` }))
      return () => server.remove(cid)
    },
  },
]

async function repeat(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const goOn = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await work(index)
  }
  await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, goOn))
}

/** Returns a CAR of roots that each link to a block that exists nowhere. */
async function deadCar(roots: number): Promise<Uint8Array> {
  const blocks = await Promise.all(
    Array.from({ length: roots }, async () => {
      const gone = CID.createV1(0x55, await sha256.digest(randomFillSync(Buffer.alloc(16))))
      const bytes = dagCbor.encode({ gone })
      return { cid: CID.createV1(dagCbor.code, await sha256.digest(bytes)), bytes }
    }),
  )
  const { writer, out } = CarWriter.create(blocks.map(({ cid }) => cid))
  const pieces: Uint8Array[] = []
  const read = (async () => {
    for await (const piece of out) pieces.push(piece)
  })()
  for (const block of blocks) await writer.put(block)
  await writer.close()
  await read
  return Buffer.concat(pieces)
}

/** Measures one work on a new server, so that no other work burdens it. */
async function longestWait(options: RunOptions, { subject, prepare }: Work): Promise<number> {
  options.signal.throwIfAborted()
  const dir = join(options.dir, subject)
  await mkdir(dir)
  const server = await LoadedServer.start(dir)
  try {
    options.progress(`${subject}: preparing`)
    const work = await prepare(server, SIZES[options.scale])
    const watch = new HealthWatch(server.url)
    try {
      options.progress(`${subject}: measuring`)
      return await watch.longestDuring(work)
    } finally {
      await watch.stop()
    }
  } finally {
    await server.stop()
  }
}

async function run(options: RunOptions): Promise<Measurement[]> {
  const measured = { metric: METRIC, unit: 'ms', better: 'lower' } as const
  const measurements: Measurement[] = [{ ...measured, subject: 'bound', values: [BOUND_MS] }]
  for (const work of WORKS) {
    measurements.push({ ...measured, subject: work.subject, values: [await longestWait(options, work)] })
  }
  return measurements
}

export const loop: Bench = {
  name: 'loop',
  minutes: 5,
  isOnce: true,
  describe: scale => {
    const { archived, blocks, uploadBytes, deadPins, records } = SIZES[scale]
    const [files, small, dead, many] = [archived, blocks, deadPins, records].map(count => count.toLocaleString('en'))
    return (
      `longest wait for /health on an idle server; during TAR and CAR reads of ${files} files. ` +
      `During upload, verification and collection of ${small} small files; during ${UPLOADS} uploads of ${uploadBytes / MIB} MiB. ` +
      `With ${dead} dead pins waiting; during the deletion of ${many} records of one CID`
    )
  },
  targets: WORKS.map(({ subject }) => ({ subject, metric: METRIC, against: 'bound', atLeast: 1 })),
  run,
}
