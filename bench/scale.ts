import { randomFillSync } from 'node:crypto'
import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench, Measurement, RunOptions, Scale } from './bench.ts'
import { filledStore, SAMPLES } from './list/filled-engine.ts'
import { askStore } from './list/list.ts'
import { LoadedServer } from './loaded-server.ts'
import { UsageWatch } from './usage.ts'

const MIB = 1024 * 1024

interface Size {
  records: readonly number[]
  /** Small files in each uploaded directory, and the number of directories. */
  directory: number
  directories: number
  /** Large files, uploaded one after the other. */
  fileBytes: number
  files: number
}

const SIZES: Readonly<Record<Scale, Size>> = {
  full: { records: [1e3, 1e4, 1e5, 1e6], directory: 1e5, directories: 10, fileBytes: 512 * MIB, files: 20 },
  quick: { records: [1e3, 1e4, 1e5], directory: 2e4, directories: 5, fileBytes: 64 * MIB, files: 8 },
  tiny: { records: [300, 600], directory: 60, directories: 2, fileBytes: 2 * MIB, files: 2 },
}

function at(size: number, unit: string, metric: string, value: number, better: 'higher' | 'lower'): Measurement {
  return { subject: String(size), metric, unit, better, values: [value] }
}

/** Measures queries, start, memory and disk space at each number of records. */
async function recordsGrowth(options: RunOptions, counts: readonly number[]): Promise<Measurement[]> {
  const measurements: Measurement[] = []
  for (const count of counts) {
    options.signal.throwIfAborted()
    options.progress(`${count} records`)
    const dir = join(options.dir, `records-${count}`)
    await mkdir(dir)
    const filled = await filledStore(dir, count, SAMPLES)
    try {
      for (const [metric, micros] of await askStore(filled, count)) {
        measurements.push(at(count, 'µs', `records-${metric}`, micros, 'lower'))
      }
    } finally {
      await filled.engine.stop()
    }
    const bytes = (await stat(join(dir, 'holdfast.db'))).size
    const began = performance.now()
    const server = await LoadedServer.start(dir)
    try {
      measurements.push(at(count, 'ms', 'records-start', performance.now() - began, 'lower'))
      measurements.push(at(count, 'MiB', 'records-memory', peakOf(server), 'lower'))
    } finally {
      await server.stop()
    }
    measurements.push(at(count, 'bytes', 'records-bytes-each', bytes / count, 'lower'))
  }
  return measurements
}

/** Uploads directories one after the other. Measures the rate, memory and disk space. */
async function blocksGrowth(options: RunOptions, { directory, directories }: Size): Promise<Measurement[]> {
  const measurements: Measurement[] = []
  const dir = join(options.dir, 'blocks')
  await withServer(dir, async server => {
    for (let number = 1; number <= directories; number++) {
      options.signal.throwIfAborted()
      options.progress(`directory ${number} of ${directories}`)
      const watch = UsageWatch.start([server.pid])
      const began = performance.now()
      await server.uploadDirectory(directory)
      const rate = directory / ((performance.now() - began) / 1_000)
      const blocks = number * directory
      measurements.push(at(blocks, 'files/s', 'blocks-files', rate, 'higher'))
      measurements.push(at(blocks, 'MiB', 'blocks-memory', watch?.usage().peakMiB ?? 0, 'lower'))
    }
  })
  const blocks = directory * directories
  measurements.push(
    at(blocks, 'bytes', 'blocks-bytes-each', (await stat(join(dir, 'holdfast.db'))).size / blocks, 'lower'),
  )
  return measurements
}

/** Uploads large files one after the other. Measures the rate, memory and database size. */
async function bytesGrowth(options: RunOptions, { fileBytes, files }: Size): Promise<Measurement[]> {
  const measurements: Measurement[] = []
  const dir = join(options.dir, 'bytes')
  const content = Buffer.alloc(fileBytes)
  await withServer(dir, async server => {
    for (let number = 1; number <= files; number++) {
      options.signal.throwIfAborted()
      options.progress(`file ${number} of ${files}`)
      randomFillSync(content)
      const watch = UsageWatch.start([server.pid])
      const began = performance.now()
      await server.uploadFile(content)
      const rate = fileBytes / 1e6 / ((performance.now() - began) / 1_000)
      measurements.push(at(number * fileBytes, 'MB/s', 'bytes-throughput', rate, 'higher'))
      measurements.push(at(number * fileBytes, 'MiB', 'bytes-memory', watch?.usage().peakMiB ?? 0, 'lower'))
    }
  })
  const stored = fileBytes * files
  const database = (await stat(join(dir, 'holdfast.db'))).size
  const shards = (await readdir(join(dir, 'blocks'))).length
  measurements.push(at(stored, 'bytes', 'bytes-database-each-mib', database / (stored / MIB), 'lower'))
  measurements.push(at(stored, 'directories', 'bytes-directories', shards, 'lower'))
  return measurements
}

async function withServer(dir: string, use: (server: LoadedServer) => Promise<void>): Promise<void> {
  await mkdir(dir)
  const server = await LoadedServer.start(dir)
  try {
    await use(server)
  } finally {
    await server.stop()
  }
}

function peakOf(server: LoadedServer): number {
  return UsageWatch.start([server.pid])?.usage().peakMiB ?? 0
}

export const scale: Bench = {
  name: 'scale',
  minutes: 12,
  isOnce: true,
  describe: scale => {
    const { records, directory, directories, fileBytes, files } = SIZES[scale]
    return (
      `questions, start and memory at ${records.map(count => count.toLocaleString('en')).join(', ')} records; ` +
      `${directories} directories of ${directory.toLocaleString('en')} small files, ${files} files of ${fileBytes / MIB} MiB`
    )
  },
  targets: [],
  async run(options) {
    const size = SIZES[options.scale]
    return [
      ...(await recordsGrowth(options, size.records)),
      ...(await blocksGrowth(options, size)),
      ...(await bytesGrowth(options, size)),
    ]
  },
}
