import { createReadStream } from 'node:fs'
import { HoldfastError, isHoldfastError, readCar } from '../../src/index.ts'
import { type ApiClient, type JsonObject, jsonBody } from './api-client.ts'
import { pathPart, textOf } from './api-command.ts'
import { type ExportedRecord, exportHeader, readEntry } from './export-file.ts'
import type { RequestBody } from './http-exchange.ts'
import type { LocalFile } from './local-files.ts'
import { printable } from './text.ts'

/** A record of an export and where in the file its content lies, in bytes; null if it brings none. */
export interface ExportSection {
  record: ExportedRecord
  content: { start: number; end: number } | null
}

/**
 * What is in an export, or null for any other CAR. Reads the file once, and holds one block at a time.
 *
 * @throws HoldfastError `VALIDATION` for an export that is cut short, and for what is no CAR
 */
export async function readExport({ file }: LocalFile): Promise<ExportSection[] | null> {
  const source = createReadStream(file)
  try {
    const { blocks, position } = await readCar(source)
    const sections: ExportSection[] = []
    let id: string | null = null
    for (let start = position(), next = await blocks.next(); next.done !== true; next = await blocks.next()) {
      const found = readEntry(next.value, id)
      const end = position()
      if (found === null) {
        if (id === null) return null
        const section = sections.at(-1)
        if (section !== undefined) section.content = { start: section.content?.start ?? start, end }
      } else if ('end' in found.entry) {
        return sections
      } else {
        id = found.id
        sections.push({ record: found.entry.record, content: null })
      }
      start = end
    }
    if (id === null) return null
  } finally {
    source.destroy()
  }
  throw new HoldfastError('VALIDATION', `${printable(file)} is an export that was cut short`)
}

/** What became of a record of an export. */
export interface RestoredRecord {
  cid: string
  /** The server's, or `expired` for what has ended since, or `refused`. */
  status: string
  reason: string | null
}

/**
 * Makes the records of an export anew, one after the other; one that is refused does not keep the others away.
 *
 * @param cluster where all of them go; undefined for where they were
 */
export async function* restoreExport(
  client: ApiClient,
  file: LocalFile,
  sections: readonly ExportSection[],
  cluster: string | undefined,
): AsyncGenerator<RestoredRecord, void> {
  for (const { record, content } of sections) {
    const { cid, expiresAt } = record
    if (expiresAt !== null && Date.parse(expiresAt) <= Date.now()) {
      yield { cid, status: 'expired', reason: `it ended at ${expiresAt}` }
      continue
    }
    const target = { cl: cluster ?? record.clusterId, timelock: expiresAt ?? undefined }
    try {
      const answer = await (record.status === 'pinned'
        ? sendContent(client, record, target, sectionBody(file, record, content))
        : askAgain(client, record, target))
      yield { cid, status: textOf(answer, 'status'), reason: null }
    } catch (error) {
      if (!isHoldfastError(error)) throw error
      yield { cid, status: 'refused', reason: error.message }
    }
  }
}

interface Target {
  cl: string
  timelock: string | undefined
}

function sendContent(
  client: ApiClient,
  { name, originalName, customName }: ExportedRecord,
  target: Target,
  body: RequestBody,
): Promise<JsonObject> {
  const named = { name, originalName, customName }
  const given = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== null)) as Partial<
    Record<keyof typeof named, string>
  >
  return client.request('POST', '/files/car', { query: { ...given, ...target }, body })
}

/** For what was not whole when it was exported. */
function askAgain(client: ApiClient, record: ExportedRecord, target: Target): Promise<JsonObject> {
  const { originalName, customName } = record
  const body = jsonBody({ ...target, originalName: originalName ?? undefined, customName: customName ?? undefined })
  return client.request('POST', `/files/pin/${pathPart(record.cid)}`, { body, headers: { prefer: 'respond-async' } })
}

/** The content of one record as a CAR of its own; one without blocks for what came with an earlier record. */
function sectionBody(
  { file }: LocalFile,
  { cid }: ExportedRecord,
  content: { start: number; end: number } | null,
): RequestBody {
  const header = exportHeader([cid])
  return {
    type: 'application/vnd.ipld.car',
    length: header.length + (content === null ? 0 : content.end - content.start),
    async *open() {
      yield header
      if (content !== null) yield* createReadStream(file, { start: content.start, end: content.end - 1 })
    },
  }
}
