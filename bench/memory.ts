import { randomFillSync } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench, Measurement, RunOptions, Scale } from './bench.ts'
import { LoadedServer } from './loaded-server.ts'
import { residentBytes } from './resident-bytes.ts'

const MIB = 1024 * 1024

interface Size {
  /** Number of uploads before the first measurement of memory, and in total. */
  few: number
  many: number
  fileBytes: number
  files: number
}

const SIZES: Readonly<Record<Scale, Size>> = {
  full: { few: 50, many: 500, fileBytes: 20 * MIB, files: 100_000 },
  quick: { few: 20, many: 100, fileBytes: 20 * MIB, files: 20_000 },
  tiny: { few: 2, many: 4, fileBytes: 3 * MIB, files: 200 },
}
const METRIC = 'growth'
const LOOK_MS = 20

async function highestDuring(pid: number, work: () => Promise<void>): Promise<number> {
  let highest = 0
  const timer = setInterval(async () => {
    highest = Math.max(highest, await residentBytes(pid).catch(() => 0))
  }, LOOK_MS)
  try {
    await work()
  } finally {
    clearInterval(timer)
  }
  return Math.max(highest, await residentBytes(pid))
}

async function withServer<T>(options: RunOptions, name: string, run: (server: LoadedServer) => Promise<T>): Promise<T> {
  options.signal.throwIfAborted()
  const dir = join(options.dir, name)
  await mkdir(dir)
  const server = await LoadedServer.start(dir)
  try {
    // Code and buffers that the first upload of each kind creates do not count as growth.
    await server.uploadFile(randomFillSync(Buffer.alloc(3 * MIB)))
    await server.uploadDirectory(10)
    return await run(server)
  } finally {
    await server.stop()
  }
}

function growthOfUploads(options: RunOptions, { few, many, fileBytes }: Size): Promise<number> {
  const content = Buffer.alloc(fileBytes)
  return withServer(options, 'uploads', async server => {
    let before = 0
    for (let count = 1; count <= many; count++) {
      options.signal.throwIfAborted()
      options.progress(`upload ${count} of ${many}`)
      // Deleted at once, so that the disk does not fill.
      await server.remove(await server.uploadFile(randomFillSync(content)))
      if (count === few) before = await residentBytes(server.pid)
    }
    return (await residentBytes(server.pid)) - before
  })
}

async function growthOf(server: LoadedServer, work: () => Promise<void>): Promise<number> {
  const before = await residentBytes(server.pid)
  return (await highestDuring(server.pid, work)) - before
}

async function run(options: RunOptions): Promise<Measurement[]> {
  const size = SIZES[options.scale]
  const uploads = await growthOfUploads(options, size)
  const form = await withServer(options, 'form', server => {
    options.progress(`a form of ${size.files} files`)
    return growthOf(server, async () => void (await server.uploadDirectory(size.files)))
  })
  const folder = await withServer(options, 'folder', async server => {
    options.progress(`a folder of ${size.files} files`)
    const name = await server.writeDirectory(size.files)
    return growthOf(server, () => server.importDirectory(name))
  })
  const measured = { metric: METRIC, unit: 'MB', better: 'lower' } as const
  const megabytes = (bytes: number): number[] => [Math.max(bytes / 1e6, 0.1)]
  return [
    { ...measured, subject: 'uploads', values: megabytes(uploads) },
    { ...measured, subject: 'form', values: megabytes(form) },
    { ...measured, subject: 'folder', values: megabytes(folder) },
    { ...measured, subject: 'bound-uploads', values: [100] },
    { ...measured, subject: 'bound-directory', values: [200] },
  ]
}

export const memory: Bench = {
  name: 'memory',
  minutes: 5,
  isOnce: true,
  describe: scale => {
    const { few, many, fileBytes, files } = SIZES[scale]
    return (
      `growth of memory from ${few} to ${many} uploads of ${fileBytes / MIB} MiB, and its peak ` +
      `during the upload and the import of ${files.toLocaleString('en')} files`
    )
  },
  targets: [
    { subject: 'uploads', metric: METRIC, against: 'bound-uploads', atLeast: 1 },
    { subject: 'form', metric: METRIC, against: 'bound-directory', atLeast: 1 },
    { subject: 'folder', metric: METRIC, against: 'bound-directory', atLeast: 1 },
  ],
  run,
}
