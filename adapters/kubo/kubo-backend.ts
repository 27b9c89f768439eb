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
import { lostWithPower } from './datastore-sync.ts'
import { type HoldBlock, holdBlock, nameStart, readName, rootIn } from './hold-block.ts'
import { failure, tooLate } from './kubo-answers.ts'
import type { KuboPin, KuboRpc } from './kubo-rpc.ts'

/** How long an upload may stand still. */
const STALL_MS = 120_000
/** How long its configuration is taken to be what it was. */
const CONFIG_MS = 600_000
/** Holds that are looked for first: whoever uses a backend has one for everything. */
const MOST_HOLDS = 4
const PAGE = 100
/** Small DAGs that are handed over together, and pins that are looked at together. */
const TOGETHER = 32

export interface KuboBackendOptions {
  rpc: KuboRpc
  /** By what this node's pins are known there: unique to it, printable. */
  mark: string
  reader: BlockSource | null
  clock: Clock
  /** What it says it has is taken to be durable although its configuration says otherwise. */
  acceptUnsynced: boolean
}

/** A cluster that is a Kubo, over its RPC. Each hold is a pin there that carries our mark; no other is touched. */
export class KuboBackend implements ClusterBackend {
  readonly reader: BlockSource | null
  readonly #rpc: KuboRpc
  readonly #mark: string
  readonly #clock: Clock
  readonly #acceptUnsynced: boolean
  readonly #holds = new Set<string>()
  /** Small DAGs to hand over, and blocks whose pins are to be looked at. */
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
    const deadline = new Deadline({ clock: this.#clock, ms: STALL_MS, late: tooLate, signal: job.signal })
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
    // To send few bytes again costs no more than to look first.
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
    if (!(await this.#isPinned(block, signal))) throw failure('it says that it has pinned what it has not')
  }

  sizeOf(cid: CID, signal?: AbortSignal): Promise<number> {
    return this.#rpc.blockSize(cid, signal ?? new AbortController().signal)
  }

  async unpin(hold: string, root: DagIdentity, signal?: AbortSignal, mayUnpin?: MayUnpin): Promise<void> {
    const own = signal ?? new AbortController().signal
    const block = await this.#blockOf(hold, root)
    // Somebody who pins the block under another name wants it to stay.
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

  /** @throws HoldfastError `UNAVAILABLE` if what it has may be lost with the power */
  async #checkDurable(signal: AbortSignal): Promise<void> {
    if (this.#acceptUnsynced || this.#clock.now() < this.#syncedUntil) return
    const lost = lostWithPower(await this.#rpc.config('Datastore.Spec', signal))
    if (lost !== null) {
      throw failure(`${lost}: have its Datastore.Spec sync them, or set acceptUnsyncedBackend and take the loss`)
    }
    this.#syncedUntil = this.#clock.now() + CONFIG_MS
  }

  /** Hands over the hold's block; what is below it the Kubo gets for itself, from the origins and from whoever has it. */
  async #sendAlone(block: HoldBlock, origins: readonly string[], signal: AbortSignal): Promise<void> {
    const taken = await this.#rpc.takeCar(carOf(block.cid, [block]), signal)
    if (taken !== 1) throw failure(`it has taken ${taken} of 1 blocks`)
    const peers = origins.filter(isPeerAddress).slice(0, MOST_ORIGINS)
    await Promise.all(peers.map(peer => this.#rpc.connect(peer, signal).catch(() => undefined)))
    signal.throwIfAborted()
  }

  /** Hands over the DAG with the hold's block above it. */
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
    if (taken !== blocks) throw failure(`it has taken ${taken} of ${blocks} blocks`)
  }

  /** @param dags each with its hold's block in front */
  async #sendSmall(dags: ReadonlyArray<readonly DagBlock[]>): Promise<undefined[]> {
    const blocks = dags.flat()
    const [first] = blocks
    if (first === undefined) return []
    const options = { clock: this.#clock, ms: STALL_MS, late: tooLate }
    const taken = await within(options, signal => this.#rpc.takeCar(carOf(first.cid, blocks), signal))
    if (taken !== blocks.length) throw failure(`it has taken ${taken} of ${blocks.length} blocks`)
    return dags.map(() => undefined)
  }

  /** @throws HoldfastError `UNAVAILABLE` if somebody else has pinned the hold's block */
  async #isPinned(block: HoldBlock, signal: AbortSignal): Promise<boolean> {
    const name = await this.#looks.of(block.cid, signal)
    if (name === '')
      throw failure(`its pin of ${block.cid} has no name: it is older than 0.38, or somebody else has pinned it`)
    if (name !== null && name !== block.name) throw failure(`somebody else has pinned ${block.cid}, which is ours`)
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

  /** The hold that a pin is; null if it is not ours. */
  async #marked({ cid, name }: KuboPin, signal: AbortSignal): Promise<MarkedPin | null> {
    const read = readName(this.#mark, name)
    if (read === null) return null
    const { hold } = read
    const root = identityOf(read.root ?? rootIn(await this.#rpc.block(cid, signal)))
    // Anybody can call a pin whatever they like.
    const isOurs = (await holdBlock(this.#mark, hold, root)).cid.equals(cid)
    return isOurs ? { ...root, hold, state: 'pinned' } : null
  }

  async #blockOf(hold: string, root: DagIdentity): Promise<HoldBlock> {
    // The last one is the first to be looked for.
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
