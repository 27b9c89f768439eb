import type { CID } from 'multiformats/cid'
import type { ClusterBackend } from '../../src/clusters/cluster-backend.ts'
import { ADMITTED, walkDag } from '../../src/content/dag/walk.ts'
import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import { cidOf, type DagIdentity, dagKey, identityOf } from '../../src/ipld/cid.ts'
import { type BackendUnderTest, Outside } from './backend.suite.ts'

/** DAG kept under a hold. */
export interface Held {
  hold: string
  dag: DagIdentity
  blocks: ReadonlyMap<string, Uint8Array>
}

/** Backend in memory, made of replaceable parts. */
export interface MemoryParts {
  backend: ClusterBackend
  /** Blocks by hold and DAG. */
  held: Map<string, Held>
  blocks: Map<string, Uint8Array>
}

/** @param broken returns the parts to replace */
export function memoryBackend(broken: (right: MemoryParts) => Partial<ClusterBackend> = () => ({})): BackendUnderTest {
  const held: MemoryParts['held'] = new Map()
  const blocks: MemoryParts['blocks'] = new Map()
  const isHeld = (dag: DagIdentity): boolean => [...held.values()].some(kept => isSame(kept.dag, dag))
  const right: ClusterBackend = {
    async pin({ hold, root, source, isRepair, signal }) {
      const dag = identityOf(root)
      if (held.has(heldKey(hold, dag)) && isRepair !== true) return
      if (source === null) throw new HoldfastError('UNAVAILABLE', `nobody is named who has ${root}`)
      const taken = new Map<string, Uint8Array>()
      const take = async (cid: CID): Promise<Uint8Array> => {
        const bytes = await source.read(cid)
        taken.set(hashOf(cid), bytes)
        return bytes
      }
      await walkDag(root, take, { concurrency: 4, maxBlocks: ADMITTED, signal }).catch((error: unknown) => {
        throw isHoldfastError(error, 'NOT_FOUND') ? new HoldfastError('CID_NOT_FOUND', error.message) : error
      })
      for (const [key, bytes] of taken) blocks.set(key, bytes)
      held.set(heldKey(hold, dag), { hold, dag, blocks: taken })
    },
    async unpin(hold, root, _signal, mayUnpin) {
      if (mayUnpin === undefined || (await mayUnpin())) held.delete(heldKey(hold, root))
    },
    status: async dag => ({
      state: isHeld(dag) ? 'pinned' : 'unpinned',
      allocations: [],
    }),
    async *pins() {
      for (const { hold, dag } of held.values()) yield [{ ...dag, hold, state: 'pinned' }]
    },
    reader: {
      async read(cid) {
        const bytes = blocks.get(hashOf(cid))
        if (bytes === undefined) throw new HoldfastError('NOT_FOUND', `block ${cid} is not on this node`)
        return bytes
      },
    },
  }
  const backend = { ...right, ...broken({ backend: right, held, blocks }) }
  return {
    backend,
    keep: async content => {
      const source = new Outside()
      const root = await source.add(content)
      await backend.pin({ hold: `record of ${root}`, root, source, origins: [] })
      return root
    },
    release: root => backend.unpin(`record of ${root}`, identityOf(root)),
    collect: async () => {
      const needed = new Set([...held.values()].flatMap(kept => [...kept.blocks.keys()]))
      for (const key of blocks.keys()) if (!needed.has(key)) blocks.delete(key)
      return blocks.size
    },
  }
}

export function heldKey(hold: string, dag: DagIdentity): string {
  return `${hold} ${dagKey(cidOf(dag))}`
}

export function isSame(one: DagIdentity, other: DagIdentity): boolean {
  return dagKey(cidOf(one)) === dagKey(cidOf(other))
}

function hashOf(cid: CID): string {
  return Buffer.from(cid.multihash.bytes).toString('hex')
}
