import * as dagPb from '@ipld/dag-pb'
import type { CID } from 'multiformats/cid'
import {
  type BackendPeer,
  type BackendStatus,
  type BlockSource,
  type ClusterBackend,
  type DagIdentity,
  HoldfastError,
  isHoldfastError,
  type MarkedPin,
  type MayUnpin,
  type PinJob,
} from '../../src/index.ts'

/** DAG kept under a hold. */
export interface HeldDag {
  hold: string
  dag: DagIdentity
  blocks: Map<string, Uint8Array>
}

/** Cluster in memory, written as a host program would write one with the published package alone. */
export class MemoryCluster implements ClusterBackend, BlockSource {
  /** By hold. */
  readonly held = new Map<string, HeldDag>()
  /** Called before each pin. An error that it throws fails the pin. */
  beforePin: () => void | Promise<void> = () => undefined

  get reader(): BlockSource {
    return this
  }

  /** Number of distinct blocks. */
  get blockCount(): number {
    return new Set([...this.held.values()].flatMap(({ blocks }) => [...blocks.keys()])).size
  }

  async pin({ hold, root, source, isRepair, signal, onProgress }: PinJob): Promise<void> {
    await this.beforePin()
    const key = `${hold} ${keyOf(root.multihash.bytes)}`
    if (this.held.has(key) && isRepair !== true) return
    if (source === null) throw new HoldfastError('UNAVAILABLE', `nobody is named who has ${root}`)
    const blocks = new Map<string, Uint8Array>()
    let size = 0
    for (const waiting = [root]; ; ) {
      const cid = waiting.pop()
      if (cid === undefined) break
      signal?.throwIfAborted()
      if (blocks.has(keyOf(cid.multihash.bytes))) continue
      const bytes = await readFrom(source, cid)
      blocks.set(keyOf(cid.multihash.bytes), bytes)
      size += bytes.length
      onProgress?.({ blocks: blocks.size, bytes: size })
      if (cid.code === dagPb.code) waiting.push(...dagPb.decode(bytes).Links.map(link => link.Hash))
    }
    this.held.set(key, { hold, dag: { codec: root.code, multihash: root.multihash.bytes }, blocks })
  }

  async unpin(hold: string, root: DagIdentity, _signal?: AbortSignal, mayUnpin?: MayUnpin): Promise<void> {
    if (mayUnpin !== undefined && !(await mayUnpin())) return
    this.held.delete(`${hold} ${keyOf(root.multihash)}`)
  }

  async status(root: DagIdentity): Promise<BackendStatus> {
    const isHeld = [...this.held.values()].some(({ dag }) => keyOf(dag.multihash) === keyOf(root.multihash))
    return { state: isHeld ? 'pinned' : 'unpinned', allocations: [] }
  }

  /** Peers that the cluster reports; null makes the request fail. */
  reportedPeers: readonly BackendPeer[] | null = [{ peer: 'memory', freeBytes: 7, error: null }]

  async peers(): Promise<readonly BackendPeer[]> {
    if (this.reportedPeers === null) throw new HoldfastError('UNAVAILABLE', 'nobody answers')
    return this.reportedPeers
  }

  async *pins(): AsyncGenerator<readonly MarkedPin[], void, undefined> {
    for (const { hold, dag } of [...this.held.values()]) yield [{ hold, ...dag, state: 'pinned' }]
  }

  async read(cid: CID): Promise<Uint8Array> {
    for (const { blocks } of this.held.values()) {
      const bytes = blocks.get(keyOf(cid.multihash.bytes))
      if (bytes !== undefined) return bytes
    }
    throw new HoldfastError('NOT_FOUND', `block ${cid} is not on this node`)
  }
}

async function readFrom(source: BlockSource, cid: CID): Promise<Uint8Array> {
  try {
    return await source.read(cid)
  } catch (error) {
    if (isHoldfastError(error, 'NOT_FOUND')) throw new HoldfastError('CID_NOT_FOUND', error.message, { cause: error })
    throw error
  }
}

function keyOf(multihash: Uint8Array): string {
  return Buffer.from(multihash).toString('hex')
}
