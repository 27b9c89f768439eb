import type { Bench, Scale } from './bench.ts'
import { clientsFor } from './clients/clients.ts'
import { TreeContent } from './content.ts'
import { type Contest, runContest } from './contest.ts'
import { contenders } from './services/contenders.ts'
import { holdfast } from './services/holdfast.ts'
import { engineDag } from './subjects/engine.ts'
import { heliaDag } from './subjects/helia.ts'
import { uploadSubject } from './subjects/uploaders.ts'

const FILE_COUNT: Readonly<Record<Scale, number>> = { full: 5_000, quick: 2_000, tiny: 250 }
const FILE_BYTES = 4 * 1024
const METRIC = 'files'

function contest(scale: Scale): Contest<TreeContent> {
  const clients = clientsFor(scale)
  const byForm = [holdfast, ...contenders()].map(kind => uploadSubject<TreeContent>(kind, 'tree', clients))
  return {
    metric: METRIC,
    unit: 'files/s',
    better: 'higher',
    subjects: [engineDag, ...byForm, heliaDag],
    createWork: scale => new TreeContent(FILE_COUNT[scale], FILE_BYTES),
    value: (tree, seconds) => tree.files.length / seconds,
  }
}

export const dag: Bench = {
  name: 'dag',
  minutes: 3,
  describe: scale => `a tree of ${FILE_COUNT[scale].toLocaleString('en')} files of 4 KiB`,
  targets: [
    { subject: 'engine', metric: METRIC, against: 'helia', atLeast: 3 },
    { subject: 'http', metric: METRIC, against: 'engine', atLeast: 0.4 },
  ],
  run: options => runContest(contest(options.scale), options),
}
