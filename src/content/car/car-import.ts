import type { CID } from 'multiformats/cid'
import { Semaphore } from '../../concurrency/capacity/semaphore.ts'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { type ByteSource, bytesOf } from '../../domain/sources.ts'
import { matches } from '../../ipld/block-hash.ts'
import { checkNew, HASH } from '../../ipld/cid.ts'
import { BlockMemory } from '../block-memory.ts'
import { memoryOf } from '../block-threads.ts'
import type { StagedDag } from '../dag/staged-dag.ts'
import { type CarBlock, readCarInto } from './car-reader.ts'

/** Maximum total size in bytes of the blocks that are being hashed or wait to be written. */
const WINDOW_BYTES = 8 * 1024 ** 2
/** Bytes that each block adds to its own size in {@link WINDOW_BYTES}. */
const BLOCK_WEIGHT = 64 * 1024

export interface StageCarOptions {
  signal?: AbortSignal | undefined
  /** Called with the length of each piece before the piece is processed. May throw to reject it. */
  onBytes: (length: number) => void
  /** Called before any block is processed. May throw to reject the roots. */
  onRoots: (roots: readonly CID[]) => void
}

/**
 * Puts every block of a CAR into a staged DAG, even blocks that no root needs. Checks each hash. Returns the roots in
 * the header.
 *
 * @throws HoldfastError `VALIDATION` for a malformed, damaged or truncated CAR; `INVALID_CID` for a hash that the node
 * cannot check; any error of `source`
 */
export async function stageCar(staged: StagedDag, source: ByteSource, options: StageCarOptions): Promise<CID[]> {
  const pieces = counted(bytesOf(source, { name: 'source', signal: options.signal }), options.onBytes)
  const memory = new BlockMemory(options.signal)
  const window = new Semaphore(WINDOW_BYTES)
  let failure: { error: unknown } | null = null
  const ended = (): Promise<void> => window.hold(WINDOW_BYTES, async () => undefined)
  try {
    const { roots, blocks } = await readCarInto(pieces, memory)
    options.onRoots(roots)
    for await (const block of blocks) {
      const weight = memoryOf(block.bytes) + BLOCK_WEIGHT
      const wait = window.acquire(weight)
      if (wait !== null) await wait
      if (failure !== null) {
        memory.release(block.bytes)
        window.release(weight)
        break
      }
      store(staged, block, memory)
        .catch((error: unknown) => {
          failure ??= { error }
        })
        .finally(() => window.release(weight))
      if (turnSpent()) await nextTurn(options.signal)
    }
    await ended()
    if (failure !== null) throw (failure as { error: unknown }).error
    return roots
  } finally {
    await pieces.return()
    await ended()
  }
}

async function store(staged: StagedDag, { cid, bytes }: CarBlock, memory: BlockMemory): Promise<void> {
  const release = (): void => memory.release(bytes)
  try {
    checkNew(cid)
    if (!(await hasHash(staged, cid, bytes))) {
      throw new HoldfastError('VALIDATION', `the bytes of block ${cid} of the CAR do not have its hash`)
    }
  } catch (error) {
    release()
    throw error
  }
  await staged.put(cid, bytes, release)
}

async function hasHash(staged: StagedDag, { multihash }: CID, bytes: Uint8Array): Promise<boolean> {
  if (multihash.code !== HASH.sha2_256) return matches(multihash.bytes, bytes)
  return Buffer.compare((await staged.store.hash(bytes)).digest, multihash.digest) === 0
}

async function* counted(
  pieces: AsyncIterable<Uint8Array>,
  count: (length: number) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of pieces) {
    count(piece.length)
    yield piece
  }
}
