import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Bench, Measurement, RunOptions, Scale } from './bench.ts'
import { askAll } from './clients/node-client.ts'
import { BenchDatabase } from './services/bench-database.ts'
import { listOf, type Node, prepareNode, startNodes, uploadOf } from './services/fleet-nodes.ts'

const IDS = ['a', 'b']
const CONNECTIONS = 8
const PROBES = 4
const SMALL_BYTES = 4 * 1024
/** The least rates of a repair that has the machine for itself, and the highest factor of others' waits. */
const BOUNDS = { megabytes: 50, contents: 150, slowdown: 1.5 }
const UNLIMITED = { repairBytesPerSecond: 10 ** 12, repairContentsPerSecond: 10 ** 9 }

interface Content {
  files: number
  bytes: number
}

const LARGE: Readonly<Record<Scale, Content>> = {
  full: { files: 48, bytes: 64 * 1024 ** 2 },
  quick: { files: 16, bytes: 64 * 1024 ** 2 },
  tiny: { files: 2, bytes: 3 * 1024 ** 2 },
}
const SMALL: Readonly<Record<Scale, Content>> = {
  full: { files: 6_000, bytes: SMALL_BYTES },
  quick: { files: 2_000, bytes: SMALL_BYTES },
  tiny: { files: 20, bytes: SMALL_BYTES },
}
/** Time in seconds for which others' waits are measured. A repair at the default rate lasts longer. */
const WATCHED: Readonly<Record<Scale, number>> = { full: 30, quick: 15, tiny: 0.3 }

/** Contents that are on one node, and that a second one should have, too. */
class Repair {
  readonly #url: string
  readonly #dir: string
  readonly #key = randomBytes(32).toString('hex')
  readonly #client: pg.Client
  #nodes: Node[] = []
  #contents = 0

  private constructor(url: string, dir: string) {
    this.#url = url
    this.#dir = dir
    this.#client = new pg.Client({ connectionString: url })
  }

  static async prepare(database: BenchDatabase, dir: string, contents: readonly Content[]): Promise<Repair> {
    await mkdir(dir)
    const repair = new Repair(await database.fresh(), dir)
    await repair.#client.connect()
    try {
      await repair.#store(contents)
      return repair
    } catch (error) {
      await repair.stop()
      throw error
    }
  }

  async #store(contents: readonly Content[]): Promise<void> {
    const [first] = await this.#start({ copies: 1 })
    for (const { files, bytes } of contents) {
      const made = (function* () {
        for (let i = 0; i < files; i++) yield randomBytes(bytes)
      })()
      if (first !== undefined) await askAll(uploadOf(first, first.headers), made, CONNECTIONS)
      this.#contents += files
    }
  }

  /** Wants two copies. Resolves when the nodes have begun to make them. */
  async begin(config: object = {}): Promise<Node[]> {
    await this.#stopNodes()
    const nodes = await this.#start({ copies: 2, config })
    while ((await this.#count('copies')) === 0) await sleep(5)
    return nodes
  }

  /** Resolves when all contents have two copies. */
  async end(): Promise<void> {
    while ((await this.#count("copies WHERE state = 'have'")) < this.#contents) await sleep(20)
  }

  /** Returns the number of copies that are still to be made. */
  left(): Promise<number> {
    return this.#count("copies WHERE state = 'wanted'")
  }

  async stop(): Promise<void> {
    await this.#stopNodes()
    await this.#client.end()
  }

  async #start(options: { copies: number; config?: object }): Promise<Node[]> {
    this.#nodes = await startNodes(this.#dir, this.#url, IDS, { ...options, key: this.#key })
    return this.#nodes
  }

  async #stopNodes(): Promise<void> {
    for (const { server } of this.#nodes.splice(0)) await server.stop()
  }

  async #count(rows: string): Promise<number> {
    const { rows: found } = await this.#client.query<{ count: string }>(`SELECT COUNT(*) AS count FROM ${rows}`)
    return Number(found[0]?.count)
  }
}

/** Returns the time in ms below which 99 % of uploads and lists on both nodes stay. */
async function waits(nodes: readonly Node[], seconds: number): Promise<number> {
  const times: number[] = []
  const until = performance.now() + seconds * 1_000
  const probe = async (node: Node): Promise<void> => {
    const files = (function* () {
      do yield randomBytes(SMALL_BYTES)
      while (performance.now() < until)
    })()
    const list = async (): Promise<void> => {
      do {
        const began = performance.now()
        const answer = await fetch(listOf(node).url, { headers: node.headers })
        await answer.arrayBuffer()
        times.push(performance.now() - began)
      } while (performance.now() < until)
    }
    await Promise.all([askAll(uploadOf(node, node.headers), files, PROBES / 2, ms => times.push(ms)), list(), list()])
  }
  await Promise.all(nodes.map(probe))
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN
}

async function run({ dir, scale, rounds, subjects, progress, signal }: RunOptions): Promise<Measurement[]> {
  const higher = { better: 'higher' } as const
  const lower = { better: 'lower', unit: 'ms', metric: 'p99' } as const
  const large: Measurement = { ...higher, subject: 'repair', metric: 'large', unit: 'MB/s', values: [] }
  const small: Measurement = { ...higher, subject: 'repair', metric: 'small', unit: '/s', values: [] }
  const alone: Measurement = { ...lower, subject: 'alone', values: [] }
  const beside: Measurement = { ...lower, subject: 'beside', values: [] }
  const database = await BenchDatabase.start()
  const timed = async (name: string, content: Content): Promise<number> => {
    progress(`${name}: ${content.files} contents`)
    const repair = await Repair.prepare(database, join(dir, name), [content])
    try {
      await repair.begin(UNLIMITED)
      const began = performance.now()
      await repair.end()
      return (performance.now() - began) / 1_000
    } finally {
      await repair.stop()
    }
  }
  try {
    for (let round = 0; round < rounds; round++) {
      signal.throwIfAborted()
      const { files, bytes } = LARGE[scale]
      const isWanted = (...some: string[]): boolean =>
        subjects === undefined || some.some(subject => subjects.includes(subject))
      if (isWanted('repair')) {
        large.values.push((files * bytes) / 1e6 / (await timed(`large-${round}`, LARGE[scale])))
        small.values.push(SMALL[scale].files / (await timed(`small-${round}`, SMALL[scale])))
      }
      if (!isWanted('alone', 'beside')) continue
      progress('waits of others')
      const repair = await Repair.prepare(database, join(dir, `waits-${round}`), [SMALL[scale], LARGE[scale]])
      try {
        const nodes = await repair.begin()
        for (const node of nodes) await prepareNode(node, { files: 20, fileBytes: SMALL_BYTES, accounts: 0 })
        beside.values.push(await waits(nodes, WATCHED[scale]))
        if (scale !== 'tiny' && (await repair.left()) === 0) throw new Error('the repair ended before its watch')
        await repair.end()
        alone.values.push(await waits(nodes, WATCHED[scale]))
      } finally {
        await repair.stop()
      }
    }
  } finally {
    await database.stop()
  }
  const bounds: Measurement[] = [
    { ...large, subject: 'bound', values: [BOUNDS.megabytes] },
    { ...small, subject: 'bound', values: [BOUNDS.contents] },
  ]
  return [...bounds, large, small, alone, beside].filter(({ values }) => values.length > 0)
}

export const repair: Bench = {
  name: 'repair',
  rounds: 3,
  minutes: 12,
  describe: scale =>
    `a second node copies ${LARGE[scale].files} contents of ${LARGE[scale].bytes / 1024 ** 2} MiB, then ` +
    `${SMALL[scale].files.toLocaleString('en')} of 4 KiB, without a limit; waits of others at the default rates`,
  targets: [
    { subject: 'repair', metric: 'large', against: 'bound', atLeast: 1 },
    { subject: 'repair', metric: 'small', against: 'bound', atLeast: 1 },
    { subject: 'beside', metric: 'p99', against: 'alone', atLeast: 1 / BOUNDS.slowdown },
  ],
  run,
}
