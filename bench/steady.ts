import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench, Measurement, Scale } from './bench.ts'
import { MultipartForm } from './multipart-form.ts'
import { median } from './report.ts'
import { residentBytes } from './resident-bytes.ts'
import { serviceOf, startStandalone } from './services/holdfast.ts'
import { type Call, call, type Service } from './services/service.ts'

interface Size {
  seconds: number
  files: number
}

const SIZES: Readonly<Record<Scale, Size>> = {
  full: { seconds: 3_600, files: 300 },
  quick: { seconds: 360, files: 300 },
  tiny: { seconds: 1, files: 6 },
}
const FILE_BYTES = [100, 4_096, 40_000, 1_500_000]
const CLIENTS = 4
const PAUSE_MS = 100
/** Memory is the median of all looks in this share of the time: after a sixth, and at the end. */
const LOOK_SHARE = 1 / 30
const WARM_SHARE = 1 / 6
const LOOKS = 20
const COLLECTIONS = 60
/** In percent. */
const LARGEST_GROWTH = 5

interface Kept {
  cid: string
  name: string
  sha256: string
}

const hash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Asks for random content of one account, and keeps its amount constant. */
class MixedLoad {
  readonly #service: Service
  readonly #api: (path: string) => Call
  readonly #kept: Kept[] = []
  done = 0
  wrong = 0

  constructor(service: Service, url: string, headers: Record<string, string>) {
    this.#service = service
    this.#api = path => ({ method: 'GET', url: `${url}/api/v3/${path}`, headers })
  }

  async fill(files: number): Promise<void> {
    while (this.#kept.length < files) this.#kept.push(await this.#upload())
  }

  async askUntil(end: number): Promise<void> {
    const works = [this.#read, this.#read, this.#read, this.#list, this.#search, this.#status, this.#replace]
    while (performance.now() < end) {
      const at = Math.floor(Math.random() * this.#kept.length)
      // A file that a client works on is out of the others' sight.
      const [file] = this.#kept.splice(at, 1)
      const work = works[Math.floor(Math.random() * works.length)]
      if (file === undefined || work === undefined) throw new Error('there are more clients than files')
      this.#kept.push(await work.call(this, file))
      this.done++
      await sleep(PAUSE_MS)
    }
  }

  async #upload(): Promise<Kept> {
    const content = randomBytes(FILE_BYTES[Math.floor(Math.random() * FILE_BYTES.length)] ?? 1)
    const name = `n${randomBytes(6).toString('hex')}`
    const form = new MultipartForm([{ name: 'file', filename: name, content }])
    const { headers, ...upload } = this.#service.upload('file')
    const answer = await call(
      { ...upload, headers: { ...headers, 'content-type': form.contentType } },
      Buffer.concat([...form.chunks()]),
    )
    return { cid: this.#service.rootOf(answer), name, sha256: hash(content) }
  }

  async #read(file: Kept): Promise<Kept> {
    const { read } = this.#service
    const response = await fetch(read?.(file.cid).url ?? '')
    this.#check(hash(new Uint8Array(await response.arrayBuffer())) === file.sha256)
    return file
  }

  async #list(file: Kept): Promise<Kept> {
    const text = await call(this.#api('users/me/uploads?limit=50'))
    this.#check((JSON.parse(text) as { uploads: unknown[] }).uploads.length > 0)
    return file
  }

  async #search(file: Kept): Promise<Kept> {
    this.#check((await call(this.#api(`users/me/uploads?q=${file.name}`))).includes(file.cid))
    return file
  }

  async #status(file: Kept): Promise<Kept> {
    this.#check((await call(this.#api(`status/${file.cid}`))).includes('"pinned"'))
    return file
  }

  async #replace(file: Kept): Promise<Kept> {
    const next = await this.#read(await this.#upload())
    await call(this.#service.remove(file.cid))
    return next
  }

  #check(isRight: boolean): void {
    if (!isRight) this.wrong++
  }
}

/** Returns the median of the memory over some time, in 2²⁰ bytes. */
async function memoryOf(pid: number, ms: number): Promise<number> {
  const looks: number[] = []
  for (let look = 0; look < LOOKS; look++) {
    looks.push((await residentBytes(pid)) / 2 ** 20)
    await sleep(ms / LOOKS)
  }
  return median(looks)
}

export const steady: Bench = {
  name: 'steady',
  isOnce: true,
  minutes: 60,
  describe: scale => {
    const { seconds, files } = SIZES[scale]
    return (
      `growth of memory after a sixth of ${seconds} s of mixed requests by ${CLIENTS} clients. ` +
      `${files} files stay, and each answer is checked`
    )
  },
  targets: [
    { subject: 'http', metric: 'growth', against: 'bound', atLeast: 1 },
    { subject: 'http', metric: 'wrong-answers', against: 'bound', atLeast: 1 },
  ],
  async run({ dir, scale, progress, signal }) {
    const { seconds, files } = SIZES[scale]
    const started = await startStandalone(dir)
    const { pid, url } = started.server
    const service = serviceOf(started)
    try {
      const load = new MixedLoad(service, url, started.headers)
      await load.fill(files)
      const began = performance.now()
      const clients = Array.from({ length: CLIENTS }, () => load.askUntil(began + seconds * 1_000))
      const collections = async (): Promise<void> => {
        for (let left = COLLECTIONS; left > 0; left--) {
          await sleep((seconds * 1_000) / COLLECTIONS, undefined, { signal })
          progress(`${load.done} answers, ${load.wrong} of them wrong, ${left} of ${COLLECTIONS} parts to go`)
          await service.collect?.()
        }
      }
      const looks = async (): Promise<[before: number, after: number]> => {
        const lookMs = seconds * 1_000 * LOOK_SHARE
        await sleep(seconds * 1_000 * WARM_SHARE - lookMs, undefined, { signal })
        const before = await memoryOf(pid, lookMs)
        await sleep(began + seconds * 1_000 - lookMs - performance.now(), undefined, { signal })
        return [before, await memoryOf(pid, lookMs)]
      }
      const [[before, after]] = await Promise.all([looks(), collections(), ...clients])
      const figure = (subject: string, metric: string, unit: string, value: number): Measurement => {
        return { subject, metric, unit, better: 'lower', values: [value] }
      }
      return [
        figure('http', 'memory-before', 'MiB', before),
        figure('http', 'memory-after', 'MiB', after),
        figure('http', 'answers', 'answers', load.done),
        // Figures of a ratio must not be zero.
        figure('http', 'growth', '%', Math.max(0.01, (100 * (after - before)) / before)),
        figure('http', 'wrong-answers', 'answers', Math.max(0.01, load.wrong)),
        figure('bound', 'growth', '%', LARGEST_GROWTH),
        figure('bound', 'wrong-answers', 'answers', 0.01),
      ]
    } finally {
      await service.stop()
    }
  },
}
