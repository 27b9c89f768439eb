import type { Bench, Scale } from './bench.ts'
import { clientsFor } from './clients/clients.ts'
import { FileContent } from './content.ts'
import { type Contest, runContest } from './contest.ts'
import { contenders } from './services/contenders.ts'
import { holdfast } from './services/holdfast.ts'
import { plain } from './services/plain.ts'
import { engineUpload } from './subjects/engine.ts'
import { heliaUpload } from './subjects/helia.ts'
import { limit } from './subjects/limit.ts'
import { uploadSubject } from './subjects/uploaders.ts'

const MIB = 1024 * 1024
const FILE_BYTES: Readonly<Record<Scale, number>> = { full: 512 * MIB, quick: 128 * MIB, tiny: 8 * MIB }
const METRIC = 'throughput'

function contest(scale: Scale): Contest<FileContent> {
  const clients = clientsFor(scale)
  const byForm = [holdfast, plain, ...contenders()].map(kind => uploadSubject<FileContent>(kind, 'file', clients))
  return {
    metric: METRIC,
    unit: 'MB/s',
    better: 'higher',
    subjects: [engineUpload, ...byForm, limit, heliaUpload],
    createWork: scale => new FileContent(FILE_BYTES[scale]),
    value: (content, seconds) => content.bytes.length / 1e6 / seconds,
  }
}

export const upload: Bench = {
  name: 'upload',
  minutes: 3,
  describe: scale => `one file of ${FILE_BYTES[scale] / MIB} MiB`,
  targets: [
    { subject: 'engine', metric: METRIC, against: 'helia', atLeast: 4 },
    { subject: 'engine', metric: METRIC, against: 'limit', atLeast: 0.7 },
    { subject: 'http', metric: METRIC, against: 'limit-http', atLeast: 0.7 },
  ],
  run: options => runContest(contest(options.scale), options),
}
