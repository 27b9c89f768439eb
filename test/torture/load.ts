import { setTimeout as sleep } from 'node:timers/promises'
import { carOf } from '../content/car/support/cars.ts'
import { type Dag, fileOf, leaf } from '../pins/fetches/support/dags.ts'
import { pseudoRandom, sha256Hex } from '../support/bytes.ts'
import type { Draws } from '../support/draws.ts'
import { type AccountLog, type Content, now } from './account-log.ts'
import { type Answered, BrokenOff, type Client, NotNow, UNAVAILABLE } from './client.ts'

/** Concurrent clients of a load. */
export const WORKERS = 4
/** Pause between two tries while the server is down, in ms. */
const PAUSE_MS = 20
/** Statuses that a failing disk may cause. Any other error fails the test. */
const FAULTY = [500, 503, 507]

interface FormFile {
  name: string
  filename: string
  content: Buffer
}

/** One of the clients. */
interface Worker {
  number: number
  /** Contents that it has stored and not removed. */
  mine: Content[]
  common: string | null
  theirs: readonly Content[]
}

interface Made {
  cid: string
  files: Array<{ cid: string; path: string }>
}

/** Optional behaviour of a load. */
interface Extras {
  /** Prefix of the labels of contents that other accounts store as well. */
  common: string
  /** Contents of other nodes, to pin by CID. */
  theirs: readonly Content[]
  /** True if the account is not an owner, so that it skips owner's requests. */
  isGuest: boolean
  /** Number of the first client, if several loads share a log. */
  first?: number
  /** Pause of a client after each step, in ms. */
  pauseMs?: number
}

/** Clients that store, pin, remove, collect, verify and read concurrently until the server is killed. */
export class Load {
  readonly #client: Client
  readonly #log: AccountLog
  readonly #mayFail: boolean
  readonly #hasOutages: boolean
  readonly #extras: Extras | null
  #ended = false
  #answers = 0
  #awaited: { answers: number; resolve: () => void } | null = null

  /**
   * @param mayFail true if the server's disk fails at random
   * @param hasOutages true if the server, or a service it needs, is down at times
   */
  constructor(client: Client, log: AccountLog, mayFail = false, hasOutages = false, extras: Extras | null = null) {
    this.#extras = extras
    this.#client = client
    this.#log = log
    this.#mayFail = mayFail
    this.#hasOutages = hasOutages
  }

  /** Ends the load. Broken connections are expected from now on. */
  end(): void {
    this.#ended = true
  }

  /** Resolves after this many answers. */
  answered(answers: number): Promise<void> {
    return new Promise(resolve => {
      this.#awaited = { answers, resolve }
    })
  }

  /** Runs all clients. Resolves when they have ended. @throws the first failure before {@link end} */
  async run(draws: Draws, label: string): Promise<void> {
    await Promise.all(Array.from({ length: WORKERS }, (_, i) => this.#work(draws.fork(), `${label} ${i}`, i)))
  }

  async #work(draws: Draws, label: string, number: number): Promise<void> {
    const worker = this.#worker(number)
    for (let step = 0; !this.#ended; step++) {
      try {
        await this.#step(draws, `${label} ${step}`, worker)
        if (this.#extras?.pauseMs !== undefined) await sleep(this.#extras.pauseMs)
      } catch (error) {
        if (this.#hasOutages && (error instanceof BrokenOff || error instanceof NotNow)) await sleep(PAUSE_MS)
        else if (!this.#ended) throw error
      }
    }
  }

  #worker(number: number): Worker {
    if (this.#extras === null) return { number, mine: [], common: null, theirs: [] }
    const { common, theirs, first = 0 } = this.#extras
    const own = this.#log.contents.filter(content => content.worker === first + number)
    return {
      number: first + number,
      // A client still owns what it stored in earlier rounds.
      mine: own.filter(({ cid }) => this.#log.isSteady(cid, now())),
      common: `${common} ${number}`,
      theirs: theirs.filter((_, i) => i % WORKERS === number),
    }
  }

  async #step(draws: Draws, label: string, worker: Worker): Promise<void> {
    const choice = draws.below(16)
    const [first, ...rest] = worker.theirs
    if (choice >= 14 && first !== undefined) return this.#pin(draws.pick([first, ...rest]), worker)
    if (choice < 3 && worker.common !== null)
      return this.#storeCommon(draws, `${worker.common} ${draws.below(4)}`, worker)
    if (choice >= 12 && this.#extras?.isGuest === true) return this.#readOne(draws, worker)
    if (choice < 5) await this.#storeFile(draws, label, worker)
    else if (choice < 7) await this.#storeDirectory(draws, label, worker)
    else if (choice < 9) await this.#storeCar(draws, label, worker)
    else if (choice < 12) await this.#remove(draws, worker)
    else if (choice < 13) await this.#expect([200], this.#client.json('POST', '/admin/v1/gc', { graceSeconds: 0 }))
    else if (choice < 14) await this.#expect([200], this.#client.ask('POST', '/admin/v1/verify'))
    else await this.#readOne(draws, worker)
  }

  async #storeFile(draws: Draws, label: string, worker: Worker): Promise<void> {
    const bytes = contentOf(draws, label)
    const dag = fileDag(bytes)
    const expiresAt = draws.below(4) === 0 ? now() + 200 + draws.below(3_000) : null
    const content = { cid: dag.root.toString(), hashes: { '': sha256Hex(bytes) }, expiresAt }
    const timelock = expiresAt === null ? null : new Date(expiresAt).toISOString()
    const parts = [{ name: 'file', filename: label, content: bytes }]
    await this.#store(content, worker, () => this.#upload('/files', parts, timelock))
  }

  /** Stores content that other accounts store as well: equal labels give equal bytes. */
  async #storeCommon(draws: Draws, label: string, worker: Worker): Promise<void> {
    const bytes = pseudoRandom(20_000 + label.length, label)
    const expiresAt = draws.below(3) === 0 ? now() + 200 + draws.below(3_000) : null
    const content = { cid: fileDag(bytes).root.toString(), hashes: { '': sha256Hex(bytes) }, expiresAt }
    const before = this.#log.find(content.cid)
    // The log has one expiry for each content, so a second request must not change it.
    if (before !== undefined && (before.expiresAt !== null || expiresAt !== null)) return
    const timelock = expiresAt === null ? null : new Date(expiresAt).toISOString()
    const parts = [{ name: 'file', filename: label, content: bytes }]
    await this.#store(content, worker, () => this.#upload('/files', parts, timelock))
  }

  async #pin(content: Content, worker: Worker): Promise<void> {
    await this.#store(content, worker, () => this.#client.ask('POST', `/api/v3/files/pin/${content.cid}`))
  }

  async #storeCar(draws: Draws, label: string, worker: Worker): Promise<void> {
    const parts = Array.from({ length: 1 + draws.below(4) }, (_, i) =>
      contentOf(draws, `${label} ${i}`).subarray(-400_000),
    )
    const dag = fileOf(parts.map(leaf))
    const content = { cid: dag.root.toString(), hashes: { '': sha256Hex(Buffer.concat(parts)) }, expiresAt: null }
    const car = await carOf([dag.root], dag.blocks)
    const type = { 'content-type': 'application/vnd.ipld.car' }
    await this.#store(content, worker, () => this.#client.ask('POST', '/api/v3/files/car', type, car))
  }

  /** Stores a directory, whose CID only the answer tells, and may pin one of its files. */
  async #storeDirectory(draws: Draws, label: string, worker: Worker): Promise<void> {
    const files = Array.from({ length: 2 + draws.below(10) }, (_, i) => ({
      name: 'files[]',
      filename: `tree/d${i % 3}/f${i}`,
      content: i === 0 ? contentOf(draws, label) : pseudoRandom(1 + draws.below(3_000), `${label} ${i}`),
    }))
    const began = now()
    const answer = await this.#expect([201], this.#upload('/files/directory-dag', files))
    if (answer === null) return
    const made = JSON.parse(answer.body.toString()) as Made
    const hashes: Record<string, string> = {}
    for (const file of made.files) {
      const sent = files.find(({ filename }) => filename === file.path || filename.endsWith(`/${file.path}`))
      if (sent === undefined) throw new Error(`${file.path} was never sent`)
      hashes[file.path] = sha256Hex(sent.content)
    }
    if (made.files.length !== files.length) throw new Error('files are missing in the answer')
    const content = { cid: made.cid, hashes, expiresAt: null, worker: worker.number }
    this.#log.storing(content, began)()
    worker.mine.push(content)
    const [one] = made.files.slice(-1)
    if (one === undefined || draws.below(2) === 0) return
    const child = { cid: one.cid, hashes: { '': hashes[one.path] ?? '' }, expiresAt: null }
    await this.#store(child, worker, () => this.#client.ask('POST', `/api/v3/files/pin/${one.cid}`))
  }

  async #store(content: Content, worker: Worker, send: () => Promise<Answered>): Promise<void> {
    const acknowledge = this.#log.storing({ ...content, worker: worker.number })
    const isRefused = (status: number): boolean => {
      // No node that has the content may be reachable at the moment.
      if (content.isFetched === true) return status === 404
      return status === 400 && this.#log.isOver(content)
    }
    const answer = await this.#expect([200, 201], send(), isRefused)
    if (answer === null) return
    const { cid } = JSON.parse(answer.body.toString()) as Made
    if (cid !== content.cid) throw new Error(`${content.cid} was stored as ${cid}`)
    acknowledge()
    const isKnown = worker.mine.some(other => other.cid === cid)
    if (content.expiresAt === null && !isKnown) worker.mine.push(content)
  }

  async #remove(draws: Draws, { mine }: Worker): Promise<void> {
    const [content] = mine.splice(draws.below(mine.length), 1)
    if (content === undefined) return
    const acknowledge = this.#log.removing(content.cid)
    if ((await this.#expect([200], this.#client.ask('DELETE', `/api/v3/files/remove/${content.cid}`))) !== null) {
      acknowledge()
    }
  }

  async #readOne(draws: Draws, { mine }: Worker): Promise<void> {
    const content = mine[draws.below(mine.length)]
    if (content === undefined || content.isFetched === true) return
    for (const [path, hash] of Object.entries(content.hashes)) {
      const read = await this.#client.hashOf(content.cid, path)
      if (read === null && this.#log.lostAt(content.cid) !== null) return
      if (read !== hash) throw new Error(`${content.cid}/${path} reads back as ${read}, not as ${hash}`)
    }
  }

  #upload(path: string, files: readonly FormFile[], timelock: string | null = null): Promise<Answered> {
    const boundary = 'torture-of-a-server'
    const pieces = files.flatMap(({ name, filename, content }) => [
      Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; name="${name}"; filename="${filename}"\r\n\r\n`),
      content,
      Buffer.from('\r\n'),
    ])
    const field = `--${boundary}\r\ncontent-disposition: form-data; name="timelock"\r\n\r\n${timelock}\r\n`
    if (timelock !== null) pieces.unshift(Buffer.from(field))
    const body = Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)])
    const type = { 'content-type': `multipart/form-data; boundary=${boundary}` }
    return this.#client.ask('POST', `/api/v3${path}`, type, body)
  }

  /** Returns the answer if its status is expected; null for an acceptable refusal. @throws for any other status */
  async #expect<T extends { status: number }>(
    statuses: readonly number[],
    asked: Promise<T>,
    isRefused: (status: number) => boolean = () => false,
  ): Promise<T | null> {
    const answer = await asked
    this.#answers++
    if (this.#awaited !== null && this.#answers >= this.#awaited.answers) this.#awaited.resolve()
    if (statuses.includes(answer.status)) return answer
    if (this.#mayFail && FAULTY.includes(answer.status)) return null
    if (this.#hasOutages && UNAVAILABLE.includes(answer.status)) return null
    if (isRefused(answer.status)) return null
    throw new Error(`the server answered ${answer.status}: ${JSON.stringify(answer).slice(0, 500)}`)
  }
}

/**
 * Returns content of one of three sizes: for a database row, for one file, or for several chunks. A quarter of it
 * shares a chunk.
 */
function contentOf(draws: Draws, label: string): Buffer {
  const size = draws.pick([draws.below(30_000), 33_000 + draws.below(200_000), 1_048_577 + draws.below(1_500_000)])
  const own = pseudoRandom(Math.max(size, 32), label)
  // This first chunk occurs in other contents as well.
  return draws.below(4) === 0 ? Buffer.concat([pseudoRandom(1_048_576, `shared ${draws.below(3)}`), own]) : own
}

/** Returns the DAG that an upload of these bytes creates: chunks of 1 MiB as raw leaves, and one node above several. */
function fileDag(bytes: Buffer): Dag {
  const leaves: Dag[] = []
  for (let start = 0; start < bytes.length; start += 1_048_576)
    leaves.push(leaf(bytes.subarray(start, start + 1_048_576)))
  const [only] = leaves
  return leaves.length === 1 && only !== undefined ? only : fileOf(leaves)
}
