import type { CID } from 'multiformats/cid'
import type {
  BackendPeer,
  BackendStatus,
  ClusterBackend,
  MarkedPin,
  MayUnpin,
  PinJob,
} from '../../src/clusters/cluster-backend.ts'
import { Deadline, within } from '../../src/concurrency/deadline.ts'
import type { BlockSource } from '../../src/content/block-source.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { cidOf, type DagIdentity, identityOf } from '../../src/ipld/cid.ts'
import { Batch } from '../remote/batch.ts'
import { carBytes, sourceWith } from '../remote/car-bytes.ts'
import { isPeerAddress, MOST_ORIGINS } from '../remote/peer-origins.ts'
import { carOf, type DagBlock, smallDag } from '../remote/small-dag.ts'
import { powerCutRisk } from './datastore-sync.ts'
import { type HoldBlock, holdBlock, nameStart, readName, rootIn } from './hold-block.ts'
import { failure, timeoutError } from './kubo-answers.ts'
import type { KuboPin, KuboRpc } from './kubo-rpc.ts'

/** Ms without progress after which an upload or a pin fails. */
const STALL_MS = 120_000
/** Ms for which a check of Kubo's configuration stays valid. */
const CONFIG_MS = 600_000
/** Number of recent hold ids that a status query tries first. Most nodes use only one. */
const MOST_HOLDS = 4
const PAGE = 100
/** Maximum number of small DAGs in one upload, and of pins in one status query. */
const TOGETHER = 32

export interface KuboBackendOptions {
  rpc: KuboRpc
  /** Text that marks this node's pins: unique and printable. */
  mark: string
  reader: BlockSource | null
  clock: Clock
  /** Accepts a Kubo that does not sync its writes and may therefore lose pins in a power cut. */
  acceptUnsynced: boolean
}

/**
 * A cluster on a Kubo node, over its RPC API. Each hold is a pin with this node's mark. Other pins are never changed.
 */
export class KuboBackend implements ClusterBackend {
  readonly reader: BlockSource | null
  readonly #rpc: KuboRpc
  readonly #mark: string
  readonly #clock: Clock
  readonly #acceptUnsynced: boolean
  readonly #holds = new Set<string>()
  readonly #sends: Batch<readonly DagBlock[], undefined>
  readonly #looks: Batch<CID, string | null>
  #syncedUntil = Number.NEGATIVE_INFINITY
  #peer: string | null = null

  constructor({ rpc, mark, reader, clock, acceptUnsynced }: KuboBackendOptions) {
    this.reader = reader
    this.#rpc = rpc
    this.#mark = mark
    this.#clock = clock
    this.#acceptUnsynced = acceptUnsynced
    this.#sends = new Batch({ maxItems: TOGETHER, ask: dags => this.#sendSmall(dags), retryAlone: true })
    const none = new AbortController().signal
    this.#looks = new Batch({ maxItems: TOGETHER, ask: cids => rpc.pinNames(cids, none) })
  }

  async pin(job: PinJob): Promise<void> {
    const deadline = new Deadline({ clock: this.#clock, ms: STALL_MS, late: timeoutError, signal: job.signal })
    try {
      await this.#pin(job, deadline)
    } finally {
      deadline.rest()
    }
  }

  async #pin(job: PinJob, deadline: Deadline): Promise<void> {
    const { hold, root, source, isRepair = false, onProgress } = job
    const { signal } = deadline
    const block = await this.#blockOf(hold, identityOf(root))
    await this.#checkDurable(signal)
    const small = source === null ? null : await smallDag(root, source, signal)
    // Upload a small DAG without a query first, because the query costs as much as the upload.
    if (small === null && (await this.#isPinned(block, signal)) && !isRepair) return
    let last = { blocks: 0, bytes: 0 }
    const moved = (): void => {
      deadline.moved()
      onProgress?.(last)
    }
    if (source === null) await this.#sendAlone(block, job.origins, signal)
    else if (small === null) {
      await this.#send(block, source, signal, sent => {
        last = { blocks: sent.blocks - 1, bytes: sent.bytes - block.bytes.length }
        moved()
      })
    } else await this.#sends.of([block, ...small], signal)
    deadline.moved()
    await this.#rpc.pinAdd(block.cid, block.name, signal, moved)
    if (!(await this.#isPinned(block, signal))) throw failure('it reported a pin that does not exist')
  }

  sizeOf(cid: CID, signal?: AbortSignal): Promise<number> {
    return this.#rpc.blockSize(cid, signal ?? new AbortController().signal)
  }

  async unpin(hold: string, root: DagIdentity, signal?: AbortSignal, mayUnpin?: MayUnpin): Promise<void> {
    const own = signal ?? new AbortController().signal
    const block = await this.#blockOf(hold, root)
    if ((await this.#rpc.pinName(block.cid, own)) !== block.name) return
    if (mayUnpin !== undefined && !(await mayUnpin())) return
    own.throwIfAborted()
    await this.#rpc.pinRm(block.cid, own)
  }

  async status(root: DagIdentity, signal?: AbortSignal): Promise<BackendStatus> {
    const own = signal ?? new AbortController().signal
    if (!(await this.#isHeld(root, own))) return { state: 'unpinned', allocations: [] }
    return { state: 'pinned', allocations: [{ peer: await this.#peerId(own), state: 'pinned', error: null }] }
  }

  async *pins(signal?: AbortSignal): AsyncGenerator<MarkedPin[], void, undefined> {
    const own = signal ?? new AbortController().signal
    let page: MarkedPin[] = []
    for await (const pin of this.#rpc.pins(nameStart(this.#mark), own)) {
      const marked = await this.#marked(pin, own)
      if (marked !== null && page.push(marked) === PAGE) {
        yield page
        page = []
      }
    }
    if (page.length > 0) yield page
  }

  async peers(signal?: AbortSignal): Promise<readonly BackendPeer[]> {
    const own = signal ?? new AbortController().signal
    const freeBytes = await this.#rpc.freeBytes(own)
    return [{ peer: await this.#peerId(own), freeBytes, error: null }]
  }

  /** Throws a HoldfastError `UNAVAILABLE` if a power cut could lose pinned content. */
  async #checkDurable(signal: AbortSignal): Promise<void> {
    if (this.#acceptUnsynced || this.#clock.now() < this.#syncedUntil) return
    const risk = powerCutRisk(await this.#rpc.config('Datastore.Spec', signal))
    if (risk !== null) {
      throw failure(`${risk}: change its Datastore.Spec, or set acceptUnsyncedBackend to accept a loss in a power cut`)
    }
    this.#syncedUntil = this.#clock.now() + CONFIG_MS
  }

  /** Uploads only the hold block. Kubo fetches the DAG below the hold block from the origins or the network. */
  async #sendAlone(block: HoldBlock, origins: readonly string[], signal: AbortSignal): Promise<void> {
    const taken = await this.#rpc.takeCar(carOf(block.cid, [block]), signal)
    if (taken !== 1) throw failure(`it took ${taken} of 1 blocks`)
    const peers = origins.filter(isPeerAddress).slice(0, MOST_ORIGINS)
    await Promise.all(peers.map(peer => this.#rpc.connect(peer, signal).catch(() => undefined)))
    signal.throwIfAborted()
  }

  async #send(
    block: HoldBlock,
    source: BlockSource,
    signal: AbortSignal,
    onProgress: (sent: { blocks: number; bytes: number }) => void,
  ): Promise<void> {
    let blocks = 0
    const car = carBytes(block.cid, sourceWith(block, source), {
      signal,
      onProgress: sent => {
        blocks = sent.blocks
        onProgress(sent)
      },
    })
    const taken = await this.#rpc.takeCar(car, signal)
    if (taken !== blocks) throw failure(`it took ${taken} of ${blocks} blocks`)
  }

  /** @param dags the blocks of each DAG, with its hold block first */
  async #sendSmall(dags: ReadonlyArray<readonly DagBlock[]>): Promise<undefined[]> {
    const blocks = dags.flat()
    const [first] = blocks
    if (first === undefined) return []
    const options = { clock: this.#clock, ms: STALL_MS, late: timeoutError }
    const taken = await within(options, signal => this.#rpc.takeCar(carOf(first.cid, blocks), signal))
    if (taken !== blocks.length) throw failure(`it took ${taken} of ${blocks.length} blocks`)
    return dags.map(() => undefined)
  }

  /**
   * Returns whether Kubo has the pin of a hold block.
   * @throws HoldfastError `UNAVAILABLE` if another user has pinned the hold block
   */
  async #isPinned(block: HoldBlock, signal: AbortSignal): Promise<boolean> {
    const name = await this.#looks.of(block.cid, signal)
    if (name === '')
      throw failure(`its pin of ${block.cid} has no name: Kubo is older than 0.38, or another user has pinned it`)
    if (name !== null && name !== block.name)
      throw failure(`another user has pinned ${block.cid}, which belongs to this node`)
    return name !== null
  }

  async #isHeld(root: DagIdentity, signal: AbortSignal): Promise<boolean> {
    for (const hold of this.#holds) {
      const block = await holdBlock(this.#mark, hold, root)
      if ((await this.#rpc.pinName(block.cid, signal)) === block.name) return true
    }
    for await (const pin of this.#rpc.pins(nameStart(this.#mark, root), signal)) {
      const marked = await this.#marked(pin, signal)
      if (marked !== null && cidOf(marked).equals(cidOf(root))) return true
    }
    return false
  }

  async #marked({ cid, name }: KuboPin, signal: AbortSignal): Promise<MarkedPin | null> {
    const read = readName(this.#mark, name)
    if (read === null) return null
    const { hold } = read
    const root = identityOf(read.root ?? rootIn(await this.#rpc.block(cid, signal)))
    // Compare the CIDs, because another user can choose the same name for a pin.
    const isOurs = (await holdBlock(this.#mark, hold, root)).cid.equals(cid)
    return isOurs ? { ...root, hold, state: 'pinned' } : null
  }

  async #blockOf(hold: string, root: DagIdentity): Promise<HoldBlock> {
    // Move the hold to the end of the set. The loop below removes the least recently used holds.
    this.#holds.delete(hold)
    this.#holds.add(hold)
    for (const oldest of this.#holds) if (this.#holds.size > MOST_HOLDS) this.#holds.delete(oldest)
    return holdBlock(this.#mark, hold, root)
  }

  async #peerId(signal: AbortSignal): Promise<string> {
    this.#peer ??= await this.#rpc.id(signal)
    return this.#peer
  }
}
