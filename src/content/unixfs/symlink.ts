import { unixfs } from '@helia/unixfs'
import type { ImportResult } from 'ipfs-unixfs-importer'
import type { CID as CIDType } from 'multiformats/cid'
import { HoldfastError } from '../../domain/errors.ts'
import type { StagedDag } from '../dag/staged-dag.ts'
import type { ImportedNode } from './unixfs-import.ts'

/**
 * Import options. They name the profile, because the defaults of @helia/unixfs split directories at another size
 * (IPIP-499).
 */
const PROFILE = { profile: 'unixfs-v1-2025', cidVersion: 1, rawLeaves: true } as const

export async function importSymlink(staged: StagedDag, target: string): Promise<ImportedNode> {
  const link = await only(
    unixfs({ blockstore: blockstoreOf(staged) }).addAll([{ path: 'link', link: target }], PROFILE),
  )
  return { cid: link.cid, size: 0, tsize: Number(link.size) }
}

async function only(results: AsyncIterable<ImportResult>): Promise<ImportResult> {
  let last: ImportResult | undefined
  for await (const result of results) last = result
  if (last === undefined) throw new HoldfastError('INTERNAL_ERROR', 'the import made no root')
  return last
}

function blockstoreOf(staged: StagedDag): Parameters<typeof unixfs>[0]['blockstore'] {
  return {
    put: (cid: CIDType, bytes: Uint8Array) => staged.put(cid, bytes),
    has: (cid: CIDType) => staged.store.has(cid),
    get: async function* (cid: CIDType) {
      yield await staged.store.get(cid)
    },
  } as Parameters<typeof unixfs>[0]['blockstore']
}
