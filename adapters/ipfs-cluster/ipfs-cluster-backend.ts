import type { CID } from 'multiformats/cid'
import type {
  BackendPeer,
  BackendStatus,
  ClusterBackend,
  MarkedPin,
  MayUnpin,
  PinJob,
} from '../../src/clusters/cluster-backend.ts'
import { OneByOne } from '../../src/concurrency/one-by-one.ts'
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
import { holdsOf, type MarkBlock, markBlock, pinWish, rootOf } from './mark-block.ts'
import { PeerStates } from './peer-states.ts'
import { NotSendable, SendableBlocks } from './sendable-blocks.ts'
import { SmallSends } from './small-sends.ts'

/** Between two looks at a pin that peers are busy with. */
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 1_000
/** Peers that say the same for so long are looked at again by the next attempt. */
const QUIET_MS = 20_000
/** How often peers are told to try again by one attempt. */
const MOST_RECOVERIES = 3
/** CIDs of one look. */
const LOOKED_AT_ONCE = 50
/** Pins of one page of a list. */
const PAGE = 50

export interface IpfsClusterBackendOptions {
  api: IpfsClusterApi
  /** By what this node's pins are known there: unique to it. */
  mark: string
  /** Null leaves it to the cluster. */
  replication: Replication | null
  /** Multiaddrs by which peers reach this node, each with its id; none if they do not. */
  addresses: () => readonly string[]
  reader: SizedSource | null
  clock: Clock
}

/** Who has been handed the blocks, or has them. */
interface Handed {
  /** Ids of peers. */
  peers?: readonly string[]
  /** Multiaddrs. */
  origins?: readonly string[]
}

const NOBODY = new PeerStates({})

/** What is known of a pin by one look. */
interface Look {
  /** As it is to be; null if it is not pinned. */
  pin: ClusterPin | null
  peers: PeerStates
}

/**
 * A cluster that an IPFS Cluster keeps, over its REST API. Its word that it has taken something is worth nothing: what
 * counts is that as many peers as are needed say `pinned`.
 */
export class IpfsClusterBackend implements ClusterBackend {
  readonly reader: BlockSource | null
  readonly sizeOf?: (cid: CID, signal?: AbortSignal) => Promise<number>
  readonly #options: IpfsClusterBackendOptions
  /** What peers say of pins. */
  readonly #statuses: Batch<string, PinPeers | null>
  readonly #sends: SmallSends
  /** The holds of a pin are read, and put in their place as a whole. */
  readonly #changes = new OneByOne()

  constructor(options: IpfsClusterBackendOptions) {
    const { reader } = options
    this.reader = reader
    // Without a gateway nothing can be read there, so all of it has to be here.
    if (reader !== null) this.sizeOf = (cid, signal) => reader.sizeOf(cid, { signal })
    this.#options = options
    this.#statuses = new Batch({ maxItems: LOOKED_AT_ONCE, ask: cids => this.#statusesOf(cids) })
    this.#sends = new SmallSends(options)
  }

  /** What was asked for stays when it fails, so that the next attempt goes on with it; `unpin` lets go of it. */
  async pin(job: PinJob): Promise<void> {
    const signal = job.signal ?? new AbortController().signal
    const { mark, replication } = this.#options
    const block = await markBlock(mark, identityOf(job.root))
    const pin = await this.#pinOf(block.cid, signal)
    const peers = pin === null ? NOBODY : await this.#peersOf(block.cid, signal)
    const holds = pin === null ? [] : (holdsOf(pin, mark) ?? [])
    const isKept = pin !== null && peers.isKept(this.#neededOf(pin))
    const isAsked = pin !== null && holds.includes(job.hold) && isReplicatedAs(pin, replication)
    const { isRepair = false } = job
    if (!isAsked || isRepair || (!isKept && peers.hasFailed)) {
      // Those that are to have it already are those that lack it.
      const first = peers.allocations.map(({ peer }) => peer)
      const handed = isKept && !isRepair ? {} : await this.#handOver(block, job, pin === null ? [] : first, signal)
      await this.#changes.run(block.cid.toString(), async () => {
        signal.throwIfAborted()
        const now = await this.#pinOf(block.cid, signal)
        const all = new Set([...(now === null ? [] : (holdsOf(now, mark) ?? [])), job.hold])
        await this.#options.api.pin(block.cid.toString(), { ...pinWish(block, all, replication), ...handed }, signal)
      })
      // No peer has it at once.
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
      const wish = pinWish(block, rest, replicationOf(pin))
      await (rest.length === 0 ? api.unpin(cid, own) : api.pin(cid, wish, own))
    })
  }

  async status(root: DagIdentity, signal?: AbortSignal): Promise<BackendStatus> {
    const own = signal ?? new AbortController().signal
    const { mark } = this.#options
    const { pin, peers } = await this.#look((await markBlock(mark, root)).cid, own)
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

  /** Has its peers take the blocks, or the first one, and tells them where the others are. */
  async #handOver(block: MarkBlock, job: PinJob, first: readonly string[], signal: AbortSignal): Promise<Handed> {
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
      const problem = `${job.root} ${error.message}, which an IPFS Cluster fetches itself, and no peer of it can reach this node`
      throw new HoldfastError('UNAVAILABLE', problem)
    }
  }

  /** Its peers get the block, and everything below it for themselves. */
  async #fetched(
    block: MarkBlock,
    origins: readonly string[],
    first: readonly string[],
    signal: AbortSignal,
  ): Promise<Handed> {
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
    let said = ''
    let since = clock.now()
    let recoveries = 0
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const { pin, peers } = await this.#look(cid, signal)
      const isOurs = pin !== null && (holdsOf(pin, mark) ?? []).includes(hold)
      const needed = pin === null ? -1 : this.#neededOf(pin)
      if (isOurs && peers.isKept(needed)) return
      const says = isOurs ? peers.describe(needed) : 'it does not know of the pin'
      if (says !== said) {
        onProgress?.({ blocks: 0, bytes: 0 })
        said = says
        since = clock.now()
      }
      // What peers fetch from others takes as long as it takes: they say themselves when it does not go on.
      const isFetched = source === null && isOurs && !peers.hasFailed
      const isQuiet = !isFetched && clock.now() - since >= QUIET_MS
      const isOver = isQuiet || (peers.isStuck && recoveries === MOST_RECOVERIES)
      if (isOver) throw new HoldfastError('UNAVAILABLE', `the IPFS Cluster has not pinned it yet: ${says}`)
      if (peers.isRecoverable && recoveries < MOST_RECOVERIES) {
        recoveries++
        await api.recover(cid.toString(), signal)
      }
      await pause(clock, pauseMs, signal)
    }
  }

  async #look(cid: CID, signal: AbortSignal): Promise<Look> {
    // Peers may be late to know what a pin is to be; the one that is asked knows it first.
    const [pin, peers] = await Promise.all([this.#pinOf(cid, signal), this.#peersOf(cid, signal)])
    return { pin, peers }
  }

  async #peersOf(cid: CID, signal: AbortSignal): Promise<PeerStates> {
    return new PeerStates((await this.#statuses.of(cid.toString(), signal)) ?? {})
  }

  /** Has a deadline of its own. */
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

  /** How many peers have to have a pin; -1 for all who are to hold it. */
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
