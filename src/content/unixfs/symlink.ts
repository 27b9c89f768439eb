import { unixfs } from '@helia/unixfs'
import * as dagPb from '@ipld/dag-pb'
import type { ImportResult } from 'ipfs-unixfs-importer'
import { CID } from 'multiformats/cid'
import { bytesOfText, hasMarks } from '../../domain/byte-text.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { CODEC } from '../../ipld/cid.ts'
import { varintBytes } from '../../ipld/varint.ts'
import type { StagedDag } from '../dag/staged-dag.ts'
import { NO_ATTRIBUTES } from './attributes.ts'
import type { ImportedNode } from './unixfs-import.ts'

/**
 * Import options. They name the profile, because the defaults of @helia/unixfs split directories at another size
 * (IPIP-499).
 */
const PROFILE = { profile: 'unixfs-v1-2025', cidVersion: 1, rawLeaves: true } as const

/**
 * @param target text form
 * @param attributes fields of `attributeFields`
 */
export async function importSymlink(
  staged: StagedDag,
  target: string,
  attributes = NO_ATTRIBUTES,
): Promise<ImportedNode> {
  const bytes = bytesOfText(target)
  // The importer takes neither bytes nor negative times.
  if (attributes.length > 0 || hasMarks(target)) return storeSymlink(staged, bytes, attributes)
  const link = await only(
    unixfs({ blockstore: blockstoreOf(staged) }).addAll([{ path: 'link', link: target }], PROFILE),
  )
  return { cid: link.cid, size: 0, tsize: Number(link.size) }
}

const SYMLINK = Uint8Array.of(0x08, 4)
const TARGET = 0x12

async function storeSymlink(staged: StagedDag, target: Uint8Array, attributes: Uint8Array): Promise<ImportedNode> {
  const data = Buffer.concat([SYMLINK, Uint8Array.of(TARGET), varintBytes(target.length), target, attributes])
  const bytes = dagPb.encode({ Data: data, Links: [] })
  const cid = CID.createV1(CODEC.dagPb, await staged.store.hash(bytes))
  await staged.put(cid, bytes)
  return { cid, size: 0, tsize: bytes.length }
}

async function only(results: AsyncIterable<ImportResult>): Promise<ImportResult> {
  let last: ImportResult | undefined
  for await (const result of results) last = result
  if (last === undefined) throw new HoldfastError('INTERNAL_ERROR', 'the import made no root')
  return last
}

function blockstoreOf(staged: StagedDag): Parameters<typeof unixfs>[0]['blockstore'] {
  return {
    put: (cid: CID, bytes: Uint8Array) => staged.put(cid, bytes),
    has: async (cid: CID) => staged.has(cid),
    get: async function* (cid: CID) {
      yield await staged.get(cid)
    },
  } as Parameters<typeof unixfs>[0]['blockstore']
}
