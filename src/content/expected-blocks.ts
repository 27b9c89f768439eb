import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { HoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import type { Blocks, StoredBlock } from '../ledger/blocks.ts'
import type { BlockFiles } from './block-files.ts'

/** Empty file beside `blocks/` by which an operator confirms that missing blocks are lost, not unmounted. */
const BLOCKS_LOST = 'blocks-lost'

/** Rows of the ledger to search, per batch and in total, and files to check. */
const MOST_ROWS = 8_192
const BATCH = 256
const SAMPLE = 16

/**
 * Refuses a directory without the blocks of the ledger: an empty one, as under a missing mount, or one without any of
 * sixteen blocks. Call it before anything is created in the directory.
 *
 * @throws HoldfastError `DATA_DIR_UNUSABLE`
 */
export async function checkBlocksThere(files: BlockFiles, backendId: number, blocks: Blocks): Promise<void> {
  if (files.isCache || existsSync(join(files.dataDir, BLOCKS_LOST))) return
  const sample = sampleOf(blocks, backendId)
  if (sample.length === 0) return
  const directories = await files.directories().catch((error: unknown) => {
    if (fileErrorCode(error) === 'ENOENT') return []
    throw error
  })
  if (directories.length > 0 && (sample.length < SAMPLE || (await hasAny(files, sample)))) return
  const place = join(files.dataDir, 'blocks')
  const what = directories.length === 0 ? 'is empty' : `has none of ${SAMPLE} blocks of the database`
  throw new HoldfastError(
    'DATA_DIR_UNUSABLE',
    `${place} ${what}, although the database lists blocks in it. Is it mounted? If they are lost, create the file ${join(files.dataDir, BLOCKS_LOST)} to start without them`,
  )
}

function sampleOf(blocks: Blocks, backendId: number): StoredBlock[] {
  const sample: StoredBlock[] = []
  for (let after = 0, rows = 0; rows < MOST_ROWS && sample.length < SAMPLE; rows += BATCH) {
    const batch = blocks.durableAfter(after, BATCH)
    const last = batch.at(-1)
    if (last === undefined) break
    after = last.id
    sample.push(
      ...batch.filter(({ inline, backendId: its, state }) => inline === 0 && its === backendId && state === 'durable'),
    )
  }
  return sample.slice(0, SAMPLE)
}

async function hasAny(files: BlockFiles, sample: readonly StoredBlock[]): Promise<boolean> {
  for (const { multihash } of sample) {
    // An unreadable file counts as present.
    const size = await files.size(multihash).catch(() => 0)
    if (size !== null) return true
  }
  return false
}
