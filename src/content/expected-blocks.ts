import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { HoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import type { Blocks, StoredBlock } from '../ledger/blocks.ts'
import type { BlockFiles } from './block-files.ts'

/**
 * Name of an empty file beside `blocks/`. An operator creates it to confirm that the missing blocks are lost for good.
 */
const BLOCKS_LOST = 'blocks-lost'

/** Ledger rows to search, rows per query, and files to check. */
const MOST_ROWS = 8_192
const BATCH = 256
const SAMPLE = 16

/**
 * Rejects a data directory that lacks the blocks of the ledger, for example because its disk is not mounted. The caller
 * must not have created any file in the directory yet.
 *
 * @throws HoldfastError `DATA_DIR_UNUSABLE` if `blocks/` is empty, or has none of sixteen sampled blocks
 */
export async function checkBlocksThere(
  files: BlockFiles,
  backendId: number,
  blocks: Pick<Blocks, 'durableAfter'>,
): Promise<void> {
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

function sampleOf(blocks: Pick<Blocks, 'durableAfter'>, backendId: number): StoredBlock[] {
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
