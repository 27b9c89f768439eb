import { randomUUID } from 'node:crypto'
import { varint } from 'multiformats'
import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import type { HoldfastClient, ListedUpload } from '../client/index.ts'
import type { GivenTo } from './all-commands.ts'
import { apiCommand } from './api-command.ts'
import { usageError } from './arguments.ts'
import { type ExportedRecord, exportEntry, exportHeader } from './export-file.ts'
import { print, printJson } from './output.ts'
import { countOf, formatBytes } from './printed-text.ts'
import { writeWhole } from './whole-file.ts'

/** Runs `export`: writes content, names, metadata and timelocks of pins to a CAR that `import` can read. */
export const exportPins = apiCommand<GivenTo<'export'>>(async ({ client, flags, words: [cid], json }) => {
  if ((cid === undefined) !== flags.all) throw usageError('either a CID or --all is needed')
  const path = flags.out ?? `${cid ?? 'holdfast-export'}.car`
  const found = await recordsOf(client, cid)
  const records = flags['include-private'] ? found : found.filter(({ visibility }) => visibility !== 'private')
  const left = found.length - records.length
  if (records.length === 0 && left > 0) throw new HoldfastError('PIN_NOT_FOUND', `${leftOut(left)}`)
  if (records.length === 0) throw new HoldfastError('PIN_NOT_FOUND', 'there is nothing to export')
  const removed: string[] = []
  const bytes = await writeWhole(path, exported(client, records, removed), { mode: 0o600 })
  const written = records.length - removed.length
  if (json) printJson({ file: path, records: written, bytes, removed, private: left })
  else print(`${path}  ${countOf(written, 'record')}, ${formatBytes(bytes)}${left > 0 ? `; ${leftOut(left)}` : ''}`)
  if (removed.length === 0) return
  throw new HoldfastError(
    'PIN_NOT_FOUND',
    `left out ${countOf(removed.length, 'record')} removed during the export: ${[...new Set(removed)].join(', ')}`,
  )
})

function leftOut(count: number): string {
  return `left out ${countOf(count, 'private record')}, which --include-private exports`
}

async function recordsOf(client: HoldfastClient, cid: string | undefined): Promise<ExportedRecord[]> {
  const records: ExportedRecord[] = []
  for await (const row of client.pins.all({ cid })) records.push(recordOf(row))
  // Lists begin with the newest record, but the import must create the newest record last.
  return records.reverse()
}

/** Converts a row of a list. The API shows the CID as the name of a record without a name. */
function recordOf(row: ListedUpload): ExportedRecord {
  const { cid, type, status, clusterId, name, originalName = null, customName = null, expiresAt, createdAt } = row
  // Other servers that implement this API may have no metadata and no private records.
  const { meta = {}, visibility }: Partial<ListedUpload> = row
  const ownName = name === cid ? null : name
  return {
    cid,
    type,
    status,
    clusterId,
    name: ownName,
    originalName,
    customName,
    expiresAt,
    createdAt,
    meta,
    ...(visibility && { visibility }),
  }
}

/**
 * Yields the export. The blocks of a DAG follow the first record with its CID and visibility.
 * @param removed receives the CIDs of records that were removed during the export, which the export omits
 */
async function* exported(
  client: HoldfastClient,
  records: readonly ExportedRecord[],
  removed: string[],
): AsyncGenerator<Uint8Array, void> {
  const id = randomUUID()
  const written = new Set<string>()
  yield exportHeader(records.map(({ cid }) => cid))
  for (const record of records) {
    const content = `${record.visibility} ${record.cid}`
    const isNew = record.status === 'pinned' && !written.has(content)
    const archive = isNew ? await archiveOf(client, record.cid) : null
    if (isNew && archive === null) {
      removed.push(record.cid)
      continue
    }
    yield await exportEntry(id, { record })
    if (archive === null) continue
    written.add(content)
    yield* blocksOf(archive)
  }
  if (removed.length === records.length) throw new HoldfastError('PIN_NOT_FOUND', 'there is nothing left to export')
  const hasPrivate = records.some(({ visibility }) => visibility === 'private')
  yield await exportEntry(id, {
    end: true,
    records: records.length - removed.length,
    ...(hasPrivate && { hasPrivate }),
  })
}

/** Opens a DAG as a CAR. Returns null if the account no longer pins the CID. */
async function archiveOf(client: HoldfastClient, cid: string): Promise<AsyncIterable<Uint8Array> | null> {
  try {
    return await client.content.archive(cid, 'car')
  } catch (error) {
    if (!isHoldfastError(error) || error.details.status !== 404) throw error
    if (await isPinned(client, cid)) throw error
    return null
  }
}

async function isPinned(client: HoldfastClient, cid: string): Promise<boolean> {
  for await (const _ of client.pins.all({ cid })) return true
  return false
}

async function* blocksOf(car: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let head: Buffer | null = Buffer.alloc(0)
  for await (const piece of car) {
    if (head === null) {
      yield piece
      continue
    }
    head = Buffer.concat([head, piece])
    const end = headerEnd(head)
    if (end === null || end > head.length) continue
    yield head.subarray(end)
    head = null
  }
  if (head !== null) throw new HoldfastError('UNAVAILABLE', 'the gateway did not answer with a CAR')
}

/**
 * Returns the offset of the first block in a CAR, or null if more bytes are needed. The header begins with its own
 * length.
 */
function headerEnd(head: Uint8Array): number | null {
  try {
    const [length, bytes] = varint.decode(head)
    return bytes + length
  } catch {
    return null
  }
}
