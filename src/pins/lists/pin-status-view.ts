import type { Fetches, FetchRow } from '../../catalogue/fetches.ts'
import type { Files, ListedContent } from '../../catalogue/listed-files.ts'
import type { PlacementRow, Placements } from '../../catalogue/placements.ts'
import type { RecordRow, Records } from '../../catalogue/records.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { checkNew, cidOf, cidOrNull, identityOf } from '../../ipld/cid.ts'
import type { OwnedDag } from '../../ledger/whole-dag.ts'
import type { FetchScheduler } from '../fetch/fetch-scheduler.ts'
import type { PinProgress } from '../fetch/pin-progress.ts'
import { type DagFile, type DirectoryOutcome, LISTED_FILES } from '../pin-types.ts'
import { presentRecord } from '../present-record.ts'
import type { SearchRoom } from './search-room.ts'

const LISTED_RECORDS = 1_000
/** Records that are read at once. More of them wait for room. */
const FEW_RECORDS = 4

/** Clusters on other systems, or with copies on several nodes, as this node knows them. */
export interface ExternalClusters {
  /** Returns null if another node keeps the cluster. */
  isExternal(clusterId: string): boolean | null
  /** Returns whether a cluster wants its content on several nodes. */
  hasCopies(clusterId: string): boolean
  /** Returns null if the cluster has neither other peers nor copies, or if it or its node does not answer. */
  peersOf(clusterId: string, dag: OwnedDag): Promise<PinProgress['peers']>
}

type PeersOf = ExternalClusters['peersOf']

/** Rows that several records of one status may share. Each is read once. */
interface Shared {
  content: (rootId: number) => Promise<ListedContent | undefined>
  fetch: (fetchId: number) => Promise<FetchRow | undefined>
  placement: (rootId: number) => Promise<PlacementRow | undefined>
  peersOf: PeersOf | null
}

/** Reads the progress of single records and the files below them. */
export class PinStatusView {
  readonly #records: Records
  readonly #files: Files
  readonly #fetches: Fetches
  readonly #scheduler: FetchScheduler
  readonly #clock: Clock
  readonly #placements: Placements
  readonly #external: ExternalClusters
  readonly #room: () => Promise<Pick<SearchRoom, 'hold'>>

  /** @param room loads the bounds of reads of many records */
  constructor(
    catalogue: { records: Records; files: Files; fetches: Fetches; placements: Placements },
    scheduler: FetchScheduler,
    clock: Clock,
    external: ExternalClusters,
    room: () => Promise<Pick<SearchRoom, 'hold'>>,
  ) {
    this.#external = external
    this.#room = room
    this.#placements = catalogue.placements
    this.#records = catalogue.records
    this.#files = catalogue.files
    this.#fetches = catalogue.fetches
    this.#scheduler = scheduler
    this.#clock = clock
  }

  /**
   * Returns the progress of an account's records of a CID, newest first.
   * @throws HoldfastError `PIN_NOT_FOUND` if there is no record; `INVALID_CID` if this node does not accept such CIDs
   */
  async status(
    accountId: string,
    { cid, cluster, peers }: { cid: string; cluster: string | null; peers: boolean },
  ): Promise<PinProgress[]> {
    const find = (limit: number) => this.#find(accountId, cid, cluster, limit)
    const peersOf = peers ? onceFor(this.#external) : null
    const few = await find(FEW_RECORDS + 1)
    if (few.length === 0) throw noPin()
    if (few.length <= FEW_RECORDS) return this.#progressOf(few, peersOf)
    few.length = 0
    const room = await this.#room()
    const read = (peersOf: PeersOf | null) =>
      room.hold(accountId, LISTED_RECORDS, async () => this.#progressOf(await find(LISTED_RECORDS), peersOf))
    // Other systems are asked while no rows are held.
    const unknown = new Map<string, { clusterId: string; dag: OwnedDag }>()
    const noting: PeersOf = async (clusterId, { codec, multihash, owner }) => {
      unknown.set(`${owner} ${clusterId}`, { clusterId, dag: { codec, multihash, owner } })
      return null
    }
    let progress: PinProgress[] | null = await read(peersOf && noting)
    if (peersOf === null || unknown.size === 0) return progress
    progress = null
    await Promise.all([...unknown.values()].map(({ clusterId, dag }) => peersOf(clusterId, dag)))
    return read(peersOf)
  }

  /** Returns the newest record of a CID and its first files. @throws HoldfastError `PIN_NOT_FOUND`, `INVALID_CID` */
  async dag(accountId: string, cid: string): Promise<DirectoryOutcome> {
    const [record] = await this.#find(accountId, cid, null, 1)
    if (record === undefined) throw noPin()
    const { rootId } = record
    const content = rootId === null ? undefined : await this.#files.content(rootId)
    const files = rootId === null ? [] : await this.#files.page(rootId, 0, LISTED_FILES)
    const totalFiles = content?.fileCount ?? 0
    return { record: presentRecord(record), created: false, files: files.map(presentFile), totalFiles }
  }

  /** Reads each row that the records share once. */
  #progressOf(records: readonly RecordRow[], peersOf: PeersOf | null): Promise<PinProgress[]> {
    const shared: Shared = {
      content: once(rootId => this.#files.content(rootId)),
      fetch: once(fetchId => this.#fetches.get(fetchId)),
      placement: once(rootId => this.#placements.ofRoot(rootId)),
      peersOf,
    }
    return Promise.all(records.map(record => this.#progress(record, shared)))
  }

  async #progress(record: RecordRow, { peersOf, ...rows }: Shared): Promise<PinProgress> {
    const content = record.rootId === null ? undefined : await rows.content(record.rootId)
    const fetch = record.fetchId === null ? undefined : await rows.fetch(record.fetchId)
    const { blocks, bytes } = this.#soFar(content, fetch)
    const isExternal = this.#external.isExternal(record.clusterId)
    const needsPlacement = record.status === 'pinning' || (isExternal === null && peersOf !== null)
    const placement = record.rootId === null || !needsPlacement ? undefined : await rows.placement(record.rootId)
    const job = fetch ?? (record.status === 'pinning' && placement ? jobOf(placement) : undefined)
    // The catalogue has a placement of content on another system, whichever node keeps its cluster.
    const isElsewhere = isExternal ?? placement !== undefined
    const hasPeers = record.rootId !== null && (isElsewhere || this.#external.hasCopies(record.clusterId))
    return {
      record: presentRecord(record),
      statusAt: record.statusAt,
      reason: record.statusReason,
      blocks,
      bytes,
      attempts: job?.attempts ?? 0,
      nextAttemptAt: job?.nextAttemptAt ?? null,
      lastError: job?.lastError ?? (record.status === 'failed' ? record.statusReason : null),
      announcedAt: content?.announcedAt ?? null,
      isExternal: isElsewhere,
      peers: hasPeers ? ((await peersOf?.(record.clusterId, record)) ?? null) : null,
    }
  }

  #soFar(content: ListedContent | undefined, fetch: FetchRow | undefined): { blocks: number; bytes: number } {
    if (content !== undefined) return { blocks: content.blocks, bytes: content.dagSize }
    if (fetch === undefined) return { blocks: 0, bytes: 0 }
    return this.#scheduler.attempt(fetch.id)?.totals ?? fetch
  }

  async #find(accountId: string, cid: string, clusterId: string | null, limit: number): Promise<RecordRow[]> {
    const parsed = cidOrNull(cid)
    if (parsed === null) return []
    const dag = identityOf(parsed)
    const records = await this.#records.ofDag({ accountId, dag, clusterId, now: this.#clock.now(), limit })
    if (records.length === 0) checkNew(parsed, 'cid')
    return records
  }
}

/** Asks each cluster once for all records of an owner, which have the same content. */
function onceFor(external: ExternalClusters): PeersOf {
  const asked = new Map<string, Promise<PinProgress['peers']>>()
  return (clusterId, dag) => {
    const key = `${dag.owner} ${clusterId}`
    const answer = asked.get(key) ?? external.peersOf(clusterId, dag)
    asked.set(key, answer)
    return answer
  }
}

function once<T>(read: (id: number) => Promise<T>): (id: number) => Promise<T> {
  const known = new Map<number, Promise<T>>()
  return id => {
    const row = known.get(id) ?? read(id)
    known.set(id, row)
    return row
  }
}

function jobOf(placement: PlacementRow): Pick<FetchRow, 'attempts' | 'nextAttemptAt' | 'lastError'> {
  return { ...placement, nextAttemptAt: placement.dueAt }
}

function presentFile(file: { path: string; codec: number; multihash: Uint8Array; size: number }): DagFile {
  return { path: file.path, cid: cidOf(file).toString(), size: file.size }
}

function noPin(): HoldfastError {
  return new HoldfastError('PIN_NOT_FOUND', 'no pin for this cid: see the list of pins')
}
