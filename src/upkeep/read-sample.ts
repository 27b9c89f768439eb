import { Deadline } from '../concurrency/deadline.ts'
import type { BlockSource } from '../content/block-source.ts'
import { hasLinks } from '../content/dag/links.ts'
import { walkDag } from '../content/dag/walk.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import { cidOf, type DagIdentity } from '../ipld/cid.ts'

const READ_AT_ONCE = 4
const SAMPLE_BYTES = 1024 ** 3
const SAMPLE_BLOCKS = 1_000_000
const SAMPLE_MS = 3_600_000

interface SampleParts {
  reader: BlockSource
  clock: Clock
  signal: AbortSignal
  /** Maximum number of distinct blocks that the walk remembers. The rest of the sample is not read. */
  maxBlocks?: number
}

/** Reads a DAG back, up to the limits. Returns the error that prevented the read, or null. */
export async function problemOfSample(
  dag: DagIdentity,
  { reader, clock, signal, maxBlocks = SAMPLE_BLOCKS }: SampleParts,
): Promise<HoldfastError | null> {
  const late = (): HoldfastError => new HoldfastError('UNAVAILABLE', 'it could not be read in time')
  const deadline = new Deadline({ clock, ms: SAMPLE_MS, late, signal })
  let bytes = 0
  try {
    await walkDag(
      cidOf(dag),
      async (cid, _parent, ended) => {
        if (bytes > SAMPLE_BYTES) return null
        const block = await reader.read(cid, { signal: ended })
        bytes += block.length
        return hasLinks(cid) ? block : null
      },
      { concurrency: READ_AT_ONCE, maxBlocks, signal: deadline.signal },
    )
    return null
  } catch (error) {
    signal.throwIfAborted()
    // Only the walk throws VALIDATION, at the first block over its limit.
    if (deadline.isOver || isHoldfastError(error, 'VALIDATION')) return null
    return isHoldfastError(error) ? error : new HoldfastError('UNAVAILABLE', 'it could not be read')
  } finally {
    deadline.rest()
  }
}
