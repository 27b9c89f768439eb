import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench, Measurement, RunOptions, Scale } from './bench.ts'
import { FileContent, TreeContent } from './content.ts'
import { type Contest, runContest, type Subject } from './contest.ts'
import { findProgram } from './programs.ts'
import { HeldWork, type Holder, Provider, startKuboHolder } from './provider.ts'
import { engineFetch, heliaFetch, kuboFetchers } from './subjects/fetchers.ts'

const MIB = 1024 * 1024
const FILE_BYTES: Readonly<Record<Scale, number>> = { full: 100 * MIB, quick: 32 * MIB, tiny: 3 * MIB }
const FILE_COUNT: Readonly<Record<Scale, number>> = { full: 2_000, quick: 500, tiny: 30 }
const SMALL_BYTES = 4 * 1024
const THROUGHPUT = 'throughput'
const FILES = 'files'

/** A system to fetch from, the names of the metrics, and the other subjects that fetch from it. */
interface Source {
  start(dir: string): Promise<Holder>
  metrics: { file: string; tree: string }
  others(holder: Holder): Subject<HeldWork>[]
}

const ours: Source = {
  start: dir => Provider.start(dir),
  metrics: { file: THROUGHPUT, tree: FILES },
  others: holder => [heliaFetch(holder)],
}

function kuboSources(): Source[] {
  const program = findProgram('kubo')
  if (program === null) return []
  return [
    {
      async start(dir) {
        await mkdir(dir)
        return startKuboHolder(program, dir)
      },
      metrics: { file: `${THROUGHPUT}-from-kubo`, tree: `${FILES}-from-kubo` },
      others: kuboFetchers,
    },
  ]
}

function fileContest(holder: Holder, source: Source): Contest<HeldWork> {
  return {
    metric: source.metrics.file,
    unit: 'MB/s',
    better: 'higher',
    subjects: [engineFetch('fetch-file', holder), ...source.others(holder)],
    createWork: scale => new HeldWork(holder, new FileContent(FILE_BYTES[scale])),
    value: ({ content }, seconds) => (content.files[0]?.bytes.length ?? 0) / 1e6 / seconds,
  }
}

function treeContest(holder: Holder, source: Source): Contest<HeldWork> {
  return {
    metric: source.metrics.tree,
    unit: 'files/s',
    better: 'higher',
    subjects: [engineFetch('fetch-tree', holder), ...source.others(holder)],
    createWork: scale => new HeldWork(holder, new TreeContent(FILE_COUNT[scale], SMALL_BYTES)),
    value: ({ content }, seconds) => content.files.length / seconds,
  }
}

/** Pins content by CID that another process on this machine has. */
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
  async run(options) {
    const measurements: Measurement[] = []
    for (const [at, source] of [ours, ...kuboSources()].entries()) {
      measurements.push(...(await run(fileContest, source, options, `file-${at}`)))
      measurements.push(...(await run(treeContest, source, options, `tree-${at}`)))
    }
    return measurements
  },
}

async function run(
  contestOf: (holder: Holder, source: Source) => Contest<HeldWork>,
  source: Source,
  options: RunOptions,
  name: string,
): Promise<Measurement[]> {
  const dir = join(options.dir, name)
  await mkdir(dir)
  const holder = await source.start(join(dir, 'provider'))
  try {
    return await runContest(contestOf(holder, source), { ...options, dir })
  } finally {
    await holder.stop()
  }
}
