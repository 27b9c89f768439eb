import type { CID } from 'multiformats/cid'
import { HoldfastError } from '../../domain/errors.ts'
import type { StoredAttributes } from '../../domain/file-attributes.ts'
import { cidOf } from '../../ipld/cid.ts'
import { freeMemory, SpareReads, WalkBudget } from '../dag/ordered-walk.ts'
import type { StagedDag } from '../dag/staged-dag.ts'
import type { BlockReader } from './block-reader.ts'
import { streamFile } from './file-stream.ts'
import { decodeNode } from './node.ts'

const AHEAD = 4

/** File of a directory to upload to another node, or a directory without content. */
export interface StagedFile {
  /** In the text form of names that are bytes. */
  path: string
  attributes: StoredAttributes
  isDirectory: boolean
  content: AsyncIterable<Uint8Array>
}

/**
 * Yields the bytes of a file of a settled staged DAG. Checks the hash of every block. Each piece is valid until the
 * caller requests the next piece.
 *
 * @throws HoldfastError `BLOCK_DAMAGED`; the reason of the signal
 */
export async function* stagedFile(
  staged: StagedDag,
  cid: CID,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const blocks = readerOf(staged, signal)
  const { node } = await blocks.load(cid)
  if (node.kind !== 'file') throw new HoldfastError('INTERNAL_ERROR', `${cid} is no file`)
  for await (const piece of streamFile(blocks, node, { start: 0, end: node.size })) {
    yield piece
    freeMemory(piece)
  }
}

/**
 * Yields the files of a settled staged directory, in the order in which they were added.
 *
 * @param attributes of each file, in the same order
 */
export async function* stagedFiles(
  staged: StagedDag,
  attributes: readonly StoredAttributes[],
  signal: AbortSignal,
): AsyncGenerator<StagedFile, void, undefined> {
  let index = 0
  for (const { path, ...file } of staged.files()) {
    const content = stagedFile(staged, cidOf(file), signal)
    yield { path, content, attributes: attributes[index++] ?? {}, isDirectory: false }
  }
}

function readerOf(staged: StagedDag, signal: AbortSignal): BlockReader {
  const get = async (cid: CID): Promise<Uint8Array> => {
    signal.throwIfAborted()
    return staged.get(cid, { verify: true })
  }
  return {
    budget: new WalkBudget(signal),
    spareReads: new SpareReads(AHEAD),
    get,
    load: async cid => {
      const block = await get(cid)
      return { block, node: decodeNode(cid, block) }
    },
  }
}
