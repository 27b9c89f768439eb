import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench, RunOptions, Scale } from './bench.ts'
import { type Contest, runContest } from './contest.ts'
import { HeldFile, HeldTree, type HeldWork, Provider } from './provider.ts'
import { engineFetch, heliaFetch } from './subjects/fetchers.ts'

const MIB = 1024 * 1024
const FILE_BYTES: Readonly<Record<Scale, number>> = { full: 100 * MIB, quick: 32 * MIB, tiny: 3 * MIB }
const FILE_COUNT: Readonly<Record<Scale, number>> = { full: 2_000, quick: 500, tiny: 30 }
const SMALL_BYTES = 4 * 1024
const THROUGHPUT = 'throughput'
const FILES = 'files'

function fileContest(provider: Provider): Contest<HeldFile> {
  return {
    metric: THROUGHPUT,
    unit: 'MB/s',
    better: 'higher',
    subjects: [engineFetch<HeldFile>('fetch-file', provider), heliaFetch<HeldFile>(provider)],
    createWork: scale => new HeldFile(provider, FILE_BYTES[scale]),
    value: (work, seconds) => work.content.bytes.length / 1e6 / seconds,
  }
}

function treeContest(provider: Provider): Contest<HeldTree> {
  return {
    metric: FILES,
    unit: 'files/s',
    better: 'higher',
    subjects: [engineFetch<HeldTree>('fetch-tree', provider), heliaFetch<HeldTree>(provider)],
    createWork: scale => new HeldTree(provider, FILE_COUNT[scale], SMALL_BYTES),
    value: (work, seconds) => work.content.files.length / seconds,
  }
}

/** Pinning by CID what another server on this machine holds. */
export const fetch: Bench = {
  name: 'fetch',
  minutes: 8,
  describe: scale =>
    `by CID from another process, one file of ${FILE_BYTES[scale] / MIB} MiB, and a tree of ` +
    `${FILE_COUNT[scale].toLocaleString('en')} files of ${SMALL_BYTES / 1024} KiB`,
  targets: [
    { subject: 'fetch-file', metric: THROUGHPUT, against: 'helia', atLeast: 2 },
    { subject: 'fetch-tree', metric: FILES, against: 'helia', atLeast: 10 },
  ],
  run: async options => [...(await run(fileContest, options, 'file')), ...(await run(treeContest, options, 'tree'))],
}

/** Each contest has a provider and directories of its own. */
async function run<W extends HeldWork>(
  contestOf: (provider: Provider) => Contest<W>,
  options: RunOptions,
  name: string,
) {
  const dir = join(options.dir, name)
  await mkdir(dir)
  const provider = await Provider.start(join(dir, 'provider'))
  try {
    return await runContest(contestOf(provider), { ...options, dir })
  } finally {
    await provider.stop()
  }
}
