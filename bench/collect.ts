import { join } from 'node:path'
import type { Bench, Scale } from './bench.ts'
import { clientsFor } from './clients/clients.ts'
import { FileContent, type FormContent, TreeContent } from './content.ts'
import { type Contest, runContest, type Subject, type Work } from './contest.ts'
import { holdfast } from './services/holdfast.ts'
import { kuboKinds } from './services/kubo.ts'
import { call, type ServiceKind } from './services/service.ts'
import { uploadsDuring } from './waits.ts'

const MIB = 1024 * 1024
const FILE_BYTES: Readonly<Record<Scale, number>> = { full: 256 * MIB, quick: 64 * MIB, tiny: 3 * MIB }
const FILES: Readonly<Record<Scale, number>> = { full: 5_000, quick: 2_000, tiny: 120 }

class Garbage implements Work {
  readonly contents: readonly FormContent[]

  constructor(scale: Scale) {
    this.contents = [new FileContent(FILE_BYTES[scale]), new TreeContent(FILES[scale], 4 * 1024)]
  }

  refill(): void {
    for (const content of this.contents) content.refill()
  }
}

function collecting({ name, start }: ServiceKind, scale: Scale): Subject<Garbage> {
  const clients = clientsFor(scale)
  return {
    name,
    async start(dir) {
      const service = await start(dir)
      return {
        pids: service.pids,
        async prepare({ contents }) {
          for (const [at, content] of contents.entries()) {
            const { path, contentType } = await content.formFile(join(dir, '..', `form-${at}.bin`))
            const kind = content.files.length > 1 ? 'tree' : 'file'
            const { body } = await clients.send(service.upload(kind), path, contentType)
            await call(service.remove(service.rootOf(body)))
          }
        },
        async run() {
          const { longest, seconds } = await uploadsDuring(service, async () => service.collect?.())
          return { value: longest, also: { collection: seconds * 1_000 } }
        },
        stop: () => service.stop(),
      }
    },
  }
}

const contest = (scale: Scale): Contest<Garbage> => ({
  ...{ metric: 'upload-longest', unit: 'ms', better: 'lower' },
  subjects: [holdfast, ...kuboKinds()].map(kind => collecting(kind, scale)),
  createWork: size => new Garbage(size),
  value: () => Number.NaN,
})

/** Measures how long the collection of deleted content delays an upload. */
export const collect: Bench = {
  name: 'collect',
  minutes: 3,
  describe: scale =>
    `the longest upload of 4 KiB while a file of ${FILE_BYTES[scale] / MIB} MiB and a tree of ` +
    `${FILES[scale].toLocaleString('en')} of 4 KiB, both deleted, are collected`,
  targets: [],
  run: options => runContest(contest(options.scale), options),
}
