import type { CID } from 'multiformats/cid'
import type {
  BackendPeer,
  BackendStatus,
  ClusterBackend,
  MarkedPin,
  MayUnpin,
  PinJob,
} from '../../src/clusters/cluster-backend.ts'
import { pause } from '../../src/concurrency/pause.ts'
import type { BlockSource, SizedSource } from '../../src/content/block-source.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import { formBody } from '../../src/domain/form-body.ts'
import { type DagIdentity, identityOf } from '../../src/ipld/cid.ts'
import { Batch } from '../remote/batch.ts'
import { carBytes, sourceWith } from '../remote/car-bytes.ts'
import { isPeerAddress, MOST_ORIGINS } from '../remote/peer-origins.ts'
import { carOf, smallDag } from '../remote/small-dag.ts'
import type { ClusterPin, IpfsClusterApi, PinPeers, Replication } from './ipfs-cluster-api.ts'
import { holdsOf, type MarkBlock, markBlock, pinOptions, rootOf } from './mark-block.ts'
import { OneByOne } from './one-by-one.ts'
import { PeerStates } from './peer-states.ts'
import { NotSendable, SendableBlocks } from './sendable-blocks.ts'
import { SmallSends } from './small-sends.ts'

/** Pauses in ms between status checks. Each pause is twice as long as the one before, up to the maximum. */
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 1_000
/** Ms without a change after which an attempt ends. A later attempt continues the work. */
const QUIET_MS = 20_000
/** Maximum number of times that one attempt asks failed peers to retry. */
const MOST_RECOVERIES = 3
const STATUS_BATCH = 50
const PAGE = 50

export interface IpfsClusterBackendOptions {
  api: IpfsClusterApi
  /** Text that marks the pins of this node: unique among the users of the cluster. */
  mark: string
  /** Null uses the setting of the cluster. */
  replication: Replication | null
  /** Returns the multiaddrs of this node, with its peer id. Empty if peers cannot reach this node. */
  addresses: () => readonly string[]
  reader: SizedSource | null
  clock: Clock
}

interface Recipients {
  /** Ids of peers in the cluster that received the upload. */
  peers?: readonly string[]
  /** Multiaddrs of other peers that have the blocks. */
  origins?: readonly string[]
}

const NO_PEERS = new PeerStates({})

/** A pin and the states of its peers, read at about the same time. */
interface Snapshot {
  /** Null if the CID is not pinned. */
  pin: ClusterPin | null
  peers: PeerStates
}

/**
 * An accepted pin request does not prove that any peer has the content. A DAG counts as pinned only when enough peers
 * report `pinned`.
 */
export class IpfsClusterBackend implements ClusterBackend {
  readonly reader: BlockSource | null
  readonly sizeOf?: (cid: CID, signal?: AbortSignal) => Promise<number>
  readonly #options: IpfsClusterBackendOptions
  readonly #statuses: Batch<string, PinPeers | null>
  readonly #sends: SmallSends
  /** Changes of one pin run one at a time: each reads all holds of the pin and writes them back. */
  readonly #changes = new OneByOne()

  constructor(options: IpfsClusterBackendOptions) {
    const { reader } = options
    this.reader = reader
    // Without a gateway, leave `sizeOf` undefined: all blocks must stay on this node, which cannot read them from the
    // cluster.
    if (reader !== null) this.sizeOf = (cid, signal) => reader.sizeOf(cid, { signal })
    this.#options = options
    this.#statuses = new Batch({ maxItems: STATUS_BATCH, ask: cids => this.#statusesOf(cids) })
    this.#sends = new SmallSends(options)
  }

  /** Pins content. After a failure the pin remains, so that the next attempt continues. {@link unpin} removes it. */
  async pin(job: PinJob): Promise<void> {
    const signal = job.signal ?? new AbortController().signal
    const { mark, replication } = this.#options
    const block = await markBlock(mark, identityOf(job.root))
    const pin = await this.#pinOf(block.cid, signal)
    const peers = pin === null ? NO_PEERS : await this.#peersOf(block.cid, signal)
    const holds = pin === null ? [] : (holdsOf(pin, mark) ?? [])
    const isKept = pin !== null && peers.isKept(this.#neededOf(pin))
    const isAsked = pin !== null && holds.includes(job.hold) && isReplicatedAs(pin, replication)
    const { isRepair = false } = job
    if (!isAsked || isRepair || (!isKept && peers.hasFailed)) {
      const first = peers.allocations.map(({ peer }) => peer)
      const recipients = isKept && !isRepair ? {} : await this.#upload(block, job, pin === null ? [] : first, signal)
      await this.#changes.run(block.cid.toString(), async () => {
        signal.throwIfAborted()
        const now = await this.#pinOf(block.cid, signal)
        const all = new Set([...(now === null ? [] : (holdsOf(now, mark) ?? [])), job.hold])
        await this.#options.api.pin(
          block.cid.toString(),
          { ...pinOptions(block, all, replication), ...recipients },
          signal,
        )
      })
      await pause(this.#options.clock, FIRST_PAUSE_MS, signal)
    }
    await this.#untilKept(block.cid, job, signal)
  }

  async unpin(hold: string, root: DagIdentity, signal?: AbortSignal, mayUnpin?: MayUnpin): Promise<void> {
    const own = signal ?? new AbortController().signal
    const { api, mark } = this.#options
    const block = await markBlock(mark, root)
    const cid = block.cid.toString()
    await this.#changes.run(cid, async () => {
      const pin = await this.#pinOf(block.cid, own)
      const holds = pin === null ? [] : (holdsOf(pin, mark) ?? [])
      if (pin === null || !holds.includes(hold)) return
      if (mayUnpin !== undefined && !(await mayUnpin())) return
      own.throwIfAborted()
      const rest = holds.filter(other => other !== hold)
      const options = pinOptions(block, rest, replicationOf(pin))
      await (rest.length === 0 ? api.unpin(cid, own) : api.pin(cid, options, own))
    })
  }

  async status(root: DagIdentity, signal?: AbortSignal): Promise<BackendStatus> {
    const own = signal ?? new AbortController().signal
    const { mark } = this.#options
    const { pin, peers } = await this.#snapshot((await markBlock(mark, root)).cid, own)
    const isOurs = pin !== null && (holdsOf(pin, mark) ?? []).length > 0
    if (!isOurs) return { state: 'unpinned', allocations: [] }
    const needed = this.#neededOf(pin)
    const state = peers.state(needed)
    const isUncertain = state !== 'pinned' && peers.mayBeKept(needed)
    return { state, allocations: peers.allocations, ...(isUncertain && { isUncertain }) }
  }

  async *pins(signal?: AbortSignal): AsyncGenerator<readonly MarkedPin[], void, undefined> {
    const own = signal ?? new AbortController().signal
    const { api, mark } = this.#options
    let page: Array<{ pin: ClusterPin; root: CID }> = []
    for await (const pin of api.pins(own)) {
      const root = await rootOf(pin, mark)
      if (root === null || page.push({ pin, root }) < PAGE) continue
      yield await this.#markedPins(page, own)
      page = []
    }
    if (page.length > 0) yield await this.#markedPins(page, own)
  }

  async peers(signal?: AbortSignal): Promise<readonly BackendPeer[]> {
    const own = signal ?? new AbortController().signal
    const [peers, space] = await Promise.all([this.#options.api.peers(own), this.#options.api.freeSpace(own)])
    return [...peers].map(([peer, error]) => ({ peer, freeBytes: space.get(peer) ?? null, error }))
  }

  /** Uploads the DAG with its mark block. If the cluster cannot import the DAG, uploads only the mark block. */
  async #upload(block: MarkBlock, job: PinJob, first: readonly string[], signal: AbortSignal): Promise<Recipients> {
    const { source, origins } = job
    if (source === null) return this.#fetched(block, origins, first, signal)
    const small = first.length === 0 ? await smallDag(job.root, source, signal) : null
    if (small !== null && this.#sends.takes([block, ...small])) {
      return { peers: await this.#sends.send([block, ...small], signal) }
    }
    const { onProgress } = job
    const car = carBytes(block.cid, new SendableBlocks(sourceWith(block, source)), { signal, onProgress })
    try {
      return { peers: await this.#add(block, car, first, signal) }
    } catch (error) {
      if (!(error instanceof NotSendable)) throw error
      const places = [...this.#options.addresses(), ...origins].filter(isPeerAddress)
      if (places.length > 0) return this.#fetched(block, places, first, signal)
      const problem = `${job.root} ${error.message}: an IPFS Cluster must fetch these from a peer, but none of its peers can reach this node`
      throw new HoldfastError('UNAVAILABLE', problem)
    }
  }

  /** Uploads only the mark block. The peers fetch the DAG from the origins. */
  async #fetched(
    block: MarkBlock,
    origins: readonly string[],
    first: readonly string[],
    signal: AbortSignal,
  ): Promise<Recipients> {
    const peers = await this.#add(block, carOf(block.cid, [block]), first, signal)
    return { peers, origins: [...new Set(origins.filter(isPeerAddress))].slice(0, MOST_ORIGINS) }
  }

  #add(
    { cid }: MarkBlock,
    car: AsyncIterable<Uint8Array>,
    peers: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { replication } = this.#options
    const form = formBody([{ name: 'file', filename: 'dag.car', content: car }])
    return this.#options.api.add({ root: cid.toString(), form, replication, peers, signal })
  }

  async #untilKept(cid: CID, { hold, source, onProgress }: PinJob, signal: AbortSignal): Promise<void> {
    const { api, clock, mark } = this.#options
    let last = ''
    let since = clock.now()
    let recoveries = 0
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const { pin, peers } = await this.#snapshot(cid, signal)
      const isOurs = pin !== null && (holdsOf(pin, mark) ?? []).includes(hold)
      const needed = pin === null ? -1 : this.#neededOf(pin)
      if (isOurs && peers.isKept(needed)) return
      const current = isOurs ? peers.describe(needed) : 'the pin is missing'
      if (current !== last) {
        onProgress?.({ blocks: 0, bytes: 0 })
        last = current
        since = clock.now()
      }
      // Let peers fetch without a time limit: they report an error if the fetch fails.
      const isFetched = source === null && isOurs && !peers.hasFailed
      const isQuiet = !isFetched && clock.now() - since >= QUIET_MS
      const isOver = isQuiet || (peers.isStuck && recoveries === MOST_RECOVERIES)
      if (isOver) throw new HoldfastError('UNAVAILABLE', `the IPFS Cluster has not pinned the content yet: ${current}`)
      if (peers.isRecoverable && recoveries < MOST_RECOVERIES) {
        recoveries++
        await api.recover(cid.toString(), signal)
      }
      await pause(clock, pauseMs, signal)
    }
  }

  async #snapshot(cid: CID, signal: AbortSignal): Promise<Snapshot> {
    // One peer sends both answers. It knows a new pin before the other peers report, so the states may be older than
    // the pin.
    const [pin, peers] = await Promise.all([this.#pinOf(cid, signal), this.#peersOf(cid, signal)])
    return { pin, peers }
  }

  async #peersOf(cid: CID, signal: AbortSignal): Promise<PeerStates> {
    return new PeerStates((await this.#statuses.of(cid.toString(), signal)) ?? {})
  }

  /** Queries without the callers' signals, because several callers share the request. */
  async #statusesOf(cids: readonly string[]): Promise<Array<PinPeers | null>> {
    const found = await this.#options.api.statuses([...new Set(cids)], new AbortController().signal)
    return cids.map(cid => found.get(cid) ?? null)
  }

  #pinOf(cid: CID, signal: AbortSignal): Promise<ClusterPin | null> {
    return this.#options.api.pinOf(cid.toString(), signal)
  }

  async #markedPins(pins: ReadonlyArray<{ pin: ClusterPin; root: CID }>, signal: AbortSignal): Promise<MarkedPin[]> {
    const states = await Promise.all(pins.map(({ pin }) => this.#statuses.of(pin.cid, signal)))
    return pins.flatMap(({ pin, root }, i) => {
      const state = new PeerStates(states[i] ?? {}).state(this.#neededOf(pin))
      return (holdsOf(pin, this.#options.mark) ?? []).map(hold => ({ ...identityOf(root), hold, state }))
    })
  }

  /** Returns -1 if all assigned peers must have the content. */
  #neededOf(pin: ClusterPin): number {
    return this.#options.replication?.min ?? replicationOf(pin).min
  }
}

function replicationOf({ replication_factor_min: min, replication_factor_max: max }: ClusterPin): Replication {
  return { min, max }
}

function isReplicatedAs(pin: ClusterPin, wished: Replication | null): boolean {
  const { min, max } = replicationOf(pin)
  return wished === null || (min === wished.min && max === wished.max)
}
