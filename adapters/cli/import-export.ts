import { createReadStream } from 'node:fs'
import { HoldfastError, isHoldfastError, readCar } from '../../src/index.ts'
import type { HoldfastClient, PinState, SizedSource } from '../client/index.ts'
import { type ExportedRecord, exportHeader, readEntry } from './export-file.ts'
import { describeError } from './failure.ts'
import { type LocalFile, shownPath } from './local-files.ts'
import { visibilityOf } from './private-content.ts'
import { timeNow } from './real-time.ts'

/** A record of an export, and the byte range of its blocks in the file. The range is null if no blocks follow. */
export interface ExportSection {
  record: ExportedRecord
  content: { start: number; end: number } | null
}

/**
 * Reads the records of an export. Returns null if the CAR is not an export.
 * @throws HoldfastError `VALIDATION` if the export is incomplete, or if the file is not a CAR
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
  throw new HoldfastError('VALIDATION', `${shownPath(file)} is an incomplete export`)
}

export interface RestoredRecord {
  cid: string
  /**
   * Status from the server. `expired` if the record expired after the export, `refused` if the server refused the
   * record.
   */
  status: PinState | 'expired' | 'refused'
  reason: string | null
}

/**
 * Restores records one by one. If the server refuses a record, continues with the next record.
 * @param cluster cluster for all records; by default, each record returns to its own cluster
 */
export async function* restoreExport(
  client: HoldfastClient,
  file: LocalFile,
  sections: readonly ExportSection[],
  cluster: string | undefined,
): AsyncGenerator<RestoredRecord, void> {
  const hasPrivate = sections.some(({ record }) => record.visibility === 'private')
  await visibilityOf(client, hasPrivate ? 'private' : undefined)
  for (const { record, content } of sections) {
    const { cid, expiresAt, meta = {} } = record
    if (expiresAt !== null && Date.parse(expiresAt) <= timeNow()) {
      yield { cid, status: 'expired', reason: `it ended at ${expiresAt}` }
      continue
    }
    const target = {
      cluster: cluster ?? record.clusterId,
      timelock: expiresAt ?? undefined,
      visibility: record.visibility,
      meta: Object.keys(meta).length === 0 ? undefined : meta,
    }
    try {
      const [name, originalName, customName] = [record.name, record.originalName, record.customName].map(
        given => given ?? undefined,
      )
      const answer =
        record.status === 'pinned'
          ? await client.files.importCar(sectionSource(file, record, content), {
              ...target,
              name,
              originalName,
              customName,
            })
          : // The export lacks the content of records that were not pinned.
            await client.pins.add(cid, { ...target, originalName, name: customName, background: true })
      yield { cid, status: answer.status, reason: null }
    } catch (error) {
      if (!isHoldfastError(error)) throw error
      yield { cid, status: 'refused', reason: describeError(error) }
    }
  }
}

/** Returns a CAR with the blocks in the given byte range of the export. */
function sectionSource(
  { file }: LocalFile,
  { cid }: ExportedRecord,
  content: { start: number; end: number } | null,
): SizedSource {
  const header = exportHeader([cid])
  const size = content === null ? 0 : content.end - content.start
  return {
    size: header.length + size,
    async *stream() {
      yield header
      if (content !== null) yield* createReadStream(file, { start: content.start, end: content.end - 1 })
    },
  }
}
