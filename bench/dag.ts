import type { Bench, Scale } from './bench.ts'
import { TreeContent } from './content.ts'
import { type Contest, runContest } from './contest.ts'
import { engineDag } from './subjects/engine.ts'
import { heliaDag } from './subjects/helia.ts'
import { httpDag } from './subjects/http.ts'

const FILE_COUNT: Readonly<Record<Scale, number>> = { full: 5_000, quick: 2_000, tiny: 250 }
const FILE_BYTES = 4 * 1024
const METRIC = 'files'

const contest: Contest<TreeContent> = {
  metric: METRIC,
  unit: 'files/s',
  better: 'higher',
  subjects: [engineDag, httpDag, heliaDag],
  createWork: scale => new TreeContent(FILE_COUNT[scale], FILE_BYTES),
  value: (tree, seconds) => tree.files.length / seconds,
}

/** A tree of many small files, stored and pinned as one DAG. */
export const dag: Bench = {
  name: 'dag',
  minutes: 3,
  describe: scale => `a tree of ${FILE_COUNT[scale].toLocaleString('en')} files of 4 KiB`,
  targets: [
    { subject: 'engine', metric: METRIC, against: 'helia', atLeast: 3 },
    { subject: 'http', metric: METRIC, against: 'engine', atLeast: 0.4 },
  ],
  run: options => runContest(contest, options),
}
