import type { CID } from 'multiformats/cid'
import type { ClusterBackend } from '../../src/clusters/cluster-backend.ts'
import { walkDag } from '../../src/content/dag/walk.ts'
import { cidOf, dagKey, identityOf } from '../../src/domain/cid.ts'
import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import { type BackendUnderTest, Outside } from './backend.suite.ts'

/** A backend in memory, by its parts. */
export interface MemoryParts {
  backend: ClusterBackend
  /** By hold, the blocks of the DAG that it keeps. */
  held: Map<string, { root: string; blocks: ReadonlyMap<string, Uint8Array> }>
  blocks: Map<string, Uint8Array>
}

/** @param broken what is to be other than right */
export function memoryBackend(broken: (right: MemoryParts) => Partial<ClusterBackend> = () => ({})): BackendUnderTest {
  const held: MemoryParts['held'] = new Map()
  const blocks: MemoryParts['blocks'] = new Map()
  const isHeld = (root: string): boolean => [...held.values()].some(kept => kept.root === root)
  const right: ClusterBackend = {
    asksBeforeUnpin: true,
    async pin({ hold, root, source, signal }) {
      if (held.has(hold)) return
      if (source === null) throw new HoldfastError('UNAVAILABLE', `nobody is named who has ${root}`)
      const taken = new Map<string, Uint8Array>()
      const take = async (cid: CID): Promise<Uint8Array> => {
        const bytes = await source.read(cid)
        taken.set(hashOf(cid), bytes)
        return bytes
      }
      await walkDag(root, take, { concurrency: 4, signal }).catch((error: unknown) => {
        throw isHoldfastError(error, 'NOT_FOUND') ? new HoldfastError('CID_NOT_FOUND', error.message) : error
      })
      for (const [key, bytes] of taken) blocks.set(key, bytes)
      held.set(hold, { root: dagKey(root), blocks: taken })
    },
    async unpin(hold, _root, _signal, mayUnpin) {
      if (mayUnpin === undefined || (await mayUnpin())) held.delete(hold)
    },
    status: async dag => ({
      state: isHeld(dagKey(cidOf(dag))) ? 'pinned' : 'unpinned',
      allocations: [],
    }),
    reader: {
      async read(cid) {
        const bytes = blocks.get(hashOf(cid))
        if (bytes === undefined) throw new HoldfastError('NOT_FOUND', `block ${cid} is not here`)
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
      await backend.pin({ hold: `record of ${root}`, root, source, origins: [], ends: null })
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

function hashOf(cid: CID): string {
  return Buffer.from(cid.multihash.bytes).toString('hex')
}
