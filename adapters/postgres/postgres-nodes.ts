import type { FleetNodes, KnownNode } from '../../src/catalogue/fleet.ts'
import type { Clock } from '../../src/domain/clock.ts'
import type { Postgres } from './postgres.ts'

/** How often a node says that it is there, and how often what others said is read anew; in milliseconds. */
const SAY_MS = 5_000
const READ_MS = 2_000
/** Who has said nothing for so long, by the database's clock, is taken for gone. */
const GONE = `INTERVAL '30 seconds'`

/** Who shares the catalogue, by what each of them says. */
export class Nodes implements FleetNodes {
  readonly #database: Postgres
  readonly #clock: Clock
  readonly #name: string
  #known: { nodes: Promise<KnownNode[]>; until: number } | null = null
  #cancel: () => void = () => undefined
  #ended = false
  #isLeaving = false

  /** @param name of this node's data directory */
  constructor(database: Postgres, clock: Clock, name: string) {
    this.#database = database
    this.#clock = clock
    this.#name = name
  }

  /** Says that this node is there, goes on saying it, and calls `look` as often. What cannot be said now is said later. */
  async start(look: () => void = () => undefined): Promise<void> {
    const say = async (): Promise<void> => {
      await this.#say('clock_timestamp()', this.#isLeaving).catch(() => undefined)
      if (this.#ended) return
      this.#cancel = this.#clock.after(SAY_MS, () => void say())
      look()
    }
    await say()
  }

  /** Says that this node is told to end: others ask nothing new of it, and wait for what it has begun. */
  async leave(): Promise<void> {
    this.#isLeaving = true
    await this.#say('clock_timestamp()', true).catch(() => undefined)
  }

  /** Says that this node is gone. */
  async stop(): Promise<void> {
    this.#ended = true
    this.#cancel()
    await this.#say('NULL', false).catch(() => undefined)
  }

  /** Those that others can reach. @throws HoldfastError `UNAVAILABLE` */
  async all(): Promise<KnownNode[]> {
    const now = this.#clock.now()
    if (this.#known === null || now >= this.#known.until) {
      const nodes = this.#database.reading.all<KnownNode>(
        `SELECT id, number, url, COALESCE(seen_at > clock_timestamp() - ${GONE}, FALSE) AS "isThere",
           leaving AS "isLeaving", run FROM nodes
         WHERE id IS NOT NULL AND url IS NOT NULL ORDER BY number`,
      )
      this.#known = { nodes, until: now + READ_MS }
      nodes.catch(() => {
        this.#known = null
      })
    }
    return this.#known.nodes
  }

  async #say(seen: string, isLeaving: boolean): Promise<void> {
    const text = `UPDATE nodes SET seen_at = ${seen}, leaving = $2 WHERE name = $1`
    await this.#database.command(text, [this.#name, isLeaving])
  }
}
