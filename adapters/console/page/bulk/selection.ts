import type { JobFilter, ListedUpload } from '../../../client/index.ts'

/** Maximum number of records in a request that names them. */
export const MOST_PICKED = 1_000

/** The name and the cluster of a picked record are shown in dialogs. */
export type Picked = Pick<ListedUpload, 'uploadId' | 'name' | 'clusterId' | 'expiresAt'>

/** Either picked records, on any number of pages, or all records that match a filter. */
export interface Selection {
  readonly picked: ReadonlyMap<string, Picked>
  readonly matching: JobFilter | null
}

export const NOTHING: Selection = { picked: new Map(), matching: null }

export function selectedCount({ picked, matching }: Selection): number {
  return matching?.expected ?? picked.size
}

/** Adds rows to the picked ones, or removes them. Rows beyond the maximum stay unpicked. */
export function pick({ picked }: Selection, rows: readonly Picked[], isOn: boolean): Selection {
  const after = new Map(picked)
  for (const row of rows) {
    if (!isOn) after.delete(row.uploadId)
    else if (after.size < MOST_PICKED) after.set(row.uploadId, row)
  }
  return { picked: after, matching: null }
}

/** Returns the rows from one row to another, in either direction. Without the first, returns only the other. */
export function rowsBetween(rows: readonly Picked[], from: string | null, to: string): readonly Picked[] {
  const [first, last] = [from ?? to, to].map(id => rows.findIndex(({ uploadId }) => uploadId === id)).toSorted(byNumber)
  if (first === undefined || last === undefined || last < 0) return []
  return first < 0 ? [rows[last] as Picked] : rows.slice(first, last + 1)
}

function byNumber(a: number, b: number): number {
  return a - b
}
