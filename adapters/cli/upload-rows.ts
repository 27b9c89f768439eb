import type { ListedUpload } from '../client/index.ts'
import { formatBytes, formatTable, printable } from './printed-text.ts'

/** Minimum length of a truncated name. */
const SHORTEST_NAME = 20
const SIZE_CELLS = 8

/**
 * Formats uploads, or the files of a directory. If the terminal is too narrow, each row has two lines. The CID is never
 * truncated, because users copy it into other commands.
 * @param columns width of the terminal; null if there is no terminal
 */
export function uploadLines(
  rows: readonly ListedUpload[],
  { areFiles, withHeader, columns }: { areFiles: boolean; withHeader: boolean; columns: number | null },
): string[] {
  const header = areFiles
    ? ['CID', 'SIZE', 'PATH']
    : ['CID', 'SIZE', 'STATUS', 'CLUSTER', 'UPLOADED', 'EXPIRES', 'NAME']
  const cells = rows.map(row => (areFiles ? fileCells(row) : uploadCells(row)))
  const table = formatTable(withHeader ? [header, ...cells] : cells, new Set([1])).split('\n')
  if (columns === null || table.every(line => line.length <= columns)) return table
  return rows.flatMap(row => twoLines(row, areFiles, columns))
}

function fileCells({ cid, size, path }: ListedUpload): string[] {
  return [cid, sizeOf(size), path ?? '']
}

function uploadCells(row: ListedUpload): string[] {
  const { cid, size, status = '', clusterId = '', createdAt, expiresAt, name } = row
  return [cid, sizeOf(size), status, clusterId, shortTime(createdAt), shortTime(expiresAt) || 'never', name ?? '']
}

function twoLines(row: ListedUpload, areFiles: boolean, columns: number): string[] {
  const { cid, size, status, clusterId, createdAt, expiresAt, name, path } = row
  const first = `${cid}  ${sizeOf(size).padStart(SIZE_CELLS)}`
  if (areFiles) return [first, `  ${cut(path ?? '', columns - 2)}`]
  const until = expiresAt === null || expiresAt === undefined ? [] : [`until ${shortTime(expiresAt)}`]
  // Omits the usual status.
  const state = status === 'pinned' ? [] : [status]
  const details = [...state, ...until, shortTime(createdAt), clusterId].join(', ')
  const called = cut(name ?? '', Math.max(columns - 2 - 2 - details.length, SHORTEST_NAME))
  return [first, cut(`  ${called}  ${details}`, columns)]
}

function cut(text: string, length: number): string {
  const shown = printable(text)
  return shown.length <= length ? shown : `${shown.slice(0, length - 1)}…`
}

function sizeOf(size: number | undefined): string {
  return size === undefined ? '' : formatBytes(size)
}

/** Formats a time in UTC, to the minute. */
function shortTime(iso: string | null | undefined): string {
  return (iso ?? '').slice(0, 16).replace('T', ' ')
}
