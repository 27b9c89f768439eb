import type { FleetNodes, KnownNode, ListedNode, LostRecord } from '../../../src/catalogue/fleet.ts'
import type { Page, PageRequest } from '../../../src/catalogue/page.ts'
import type { KeptPast } from '../../../src/catalogue/shared-catalogue.ts'
import type { CatalogueTable } from '../../../src/catalogue/tables.ts'
import type { Clock } from '../../../src/domain/clock.ts'
import { isHoldfastError } from '../../../src/domain/errors.ts'
import { confirmAway } from '../copies/copy-presence.ts'
import type { Postgres } from '../database/postgres.ts'
import { LostPace } from '../nodes/lost-pace.ts'
import { HAS_ENDED, READS_FRAMES } from '../nodes/node-states.ts'
import { HEARTBEAT_MS, OwnHeartbeats } from '../nodes/own-heartbeats.ts'
import { beginRetirement } from './begin-retirement.ts'
import { forgetNode } from './forget-node.ts'
import { lostRecords } from './lost-records.ts'
import { isThereAfter, NodeList } from './node-list.ts'

const CACHE_MS = 2_000

export class Nodes implements FleetNodes {
  readonly #database: Postgres
  readonly #clock: Clock
  readonly #name: string
  #known: { nodes: Promise<KnownNode[]>; until: number; isRead: boolean } | null = null
  #cancel: () => void = () => undefined
  #ended = false
  #isLeaving = false
  readonly #listed: NodeList
  readonly #beats = new OwnHeartbeats()
  readonly #follow: KeptPast['follow']

  /**
   * @param tables the tables of features
   * @param follow notes durably whether changes by other nodes wait for this node
   */
  constructor(
    database: Postgres,
    clock: Clock,
    name: string,
    tables: readonly CatalogueTable[] = [],
    follow: KeptPast['follow'] = () => false,
  ) {
    this.#follow = follow
    this.#database = database
    this.#clock = clock
    this.#name = name
    this.#listed = new NodeList(database.reading, clock, new LostPace(tables))
  }

  /** Sends a heartbeat at once, then at a fixed interval. Calls `onBeat` after each attempt, even a failed one. */
  async start(onBeat: () => void = () => undefined): Promise<void> {
    const beat = async (): Promise<void> => {
      await this.#heartbeat('clock_timestamp()', this.#isLeaving).catch(() => undefined)
      if (this.#ended) return
      this.#cancel = this.#clock.after(HEARTBEAT_MS, () => void beat())
      onBeat()
    }
    await beat()
  }

  /** Marks this node as shutting down. Other nodes send it no new work, and wait until its running work ends. */
  async leave(): Promise<void> {
    this.#isLeaving = true
    await this.#heartbeat('clock_timestamp()', true).catch(() => undefined)
  }

  async stop(): Promise<void> {
    this.#ended = true
    this.#cancel()
    const hasFollowed = this.#follow(false)
    await this.#heartbeat('NULL', false).catch(error => {
      if (hasFollowed && isHoldfastError(error, 'UNAVAILABLE')) this.#follow(true)
    })
  }

  /** Callers share a query in progress, so that requests for a node that is down do not multiply queries. */
  async all(isFresh = false): Promise<KnownNode[]> {
    const now = this.#clock.now()
    if (this.#known === null || now >= this.#known.until || (isFresh && this.#known.isRead)) {
      const nodes = this.#database.reading.all<KnownNode>(
        `SELECT id, number, url, ${isThereAfter('$1')} AS "isThere", leaving AS "isLeaving", run, ${READS_FRAMES} AS "readsFrames",
           state = 'forgetting' AS "isLost" FROM nodes
         WHERE id IS NOT NULL AND url IS NOT NULL AND NOT ${HAS_ENDED} ORDER BY number`,
        [this.#beats.silenceMs(now)],
      )
      const known = { nodes, until: now + CACHE_MS, isRead: false }
      this.#known = known
      nodes.then(
        () => {
          known.isRead = true
        },
        () => {
          this.#known = null
        },
      )
    }
    return this.#known.nodes
  }

  list(): Promise<ListedNode[]> {
    return this.#listed.list(this.#beats.silenceMs(this.#clock.now()))
  }

  async retire(id: string, to: string): Promise<void> {
    await beginRetirement(this.#database, id, to, this.#beats.silenceMs(this.#clock.now()))
  }

  async forget(id: string, { isReplaced = false }: { isReplaced?: boolean } = {}): Promise<void> {
    await forgetNode(this.#database, id, isReplaced)
    this.#known = null
    this.#listed.changed()
  }

  hasReported(): boolean {
    return this.#beats.hasBegun
  }

  unbrokenMs(): number {
    return this.#beats.unbrokenMs(this.#clock.now())
  }

  async confirmAway(ids: readonly string[]): Promise<void> {
    await confirmAway(this.#database, ids)
    this.#listed.changed()
  }

  lost(request: PageRequest & { account?: string | undefined }): Promise<Page<LostRecord>> {
    return lostRecords(this.#database.reading, request)
  }

  async #heartbeat(seen: string, isLeaving: boolean): Promise<void> {
    const text = `UPDATE nodes SET seen_at = ${seen}, last_seen_at = clock_timestamp(), leaving = $2 WHERE name = $1`
    await this.#database.command(text, [this.#name, isLeaving])
    this.#beats.wrote(this.#clock.now())
  }
}
