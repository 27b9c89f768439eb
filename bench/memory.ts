import { randomFillSync } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench, Measurement, RunOptions, Scale } from './bench.ts'
import { LoadedServer } from './loaded-server.ts'

const MIB = 1024 * 1024

interface Size {
  /** Uploads after which memory is looked at first. */
  few: number
  many: number
  fileBytes: number
  /** Files of a directory. */
  files: number
}

const SIZES: Readonly<Record<Scale, Size>> = {
  full: { few: 50, many: 500, fileBytes: 20 * MIB, files: 100_000 },
  quick: { few: 20, many: 100, fileBytes: 20 * MIB, files: 20_000 },
  tiny: { few: 2, many: 4, fileBytes: 3 * MIB, files: 200 },
}
const METRIC = 'growth'
const LOOK_MS = 20

/** Bytes of memory that a process has; only where the system tells by a file. */
async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
}

/** The most that a process has had while some work ran. */
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
    // What is loaded and made with the first upload of each kind is no growth.
    await server.uploadFile(randomFillSync(Buffer.alloc(3 * MIB)))
    await server.uploadDirectory(10)
    return await run(server)
  } finally {
    await server.stop()
  }
}

/** From after a few uploads to after many. */
function growthOfUploads(options: RunOptions, { few, many, fileBytes }: Size): Promise<number> {
  const content = Buffer.alloc(fileBytes)
  return withServer(options, 'uploads', async server => {
    let before = 0
    for (let count = 1; count <= many; count++) {
      options.signal.throwIfAborted()
      options.progress(`upload ${count} of ${many}`)
      // Removed again, or the disk would be what is measured.
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
  // Less than nothing is as good as next to nothing.
  const megabytes = (bytes: number): number[] => [Math.max(bytes / 1e6, 0.1)]
  return [
    { ...measured, subject: 'uploads', values: megabytes(uploads) },
    { ...measured, subject: 'form', values: megabytes(form) },
    { ...measured, subject: 'folder', values: megabytes(folder) },
    { ...measured, subject: 'bound-uploads', values: [100] },
    { ...measured, subject: 'bound-directory', values: [200] },
  ]
}

/** What a server's memory grows by, apart from what it is at work on. */
export const memory: Bench = {
  name: 'memory',
  minutes: 5,
  isOnce: true,
  describe: scale => {
    const { few, many, fileBytes, files } = SIZES[scale]
    return (
      `resident memory of the server after ${many} uploads of ${fileBytes / MIB} MiB against after ${few}, and at most ` +
      `while a directory of ${files.toLocaleString('en')} files comes as a form and from a folder`
    )
  },
  targets: [
    { subject: 'uploads', metric: METRIC, against: 'bound-uploads', atLeast: 1 },
    { subject: 'form', metric: METRIC, against: 'bound-directory', atLeast: 1 },
    { subject: 'folder', metric: METRIC, against: 'bound-directory', atLeast: 1 },
  ],
  run,
}
