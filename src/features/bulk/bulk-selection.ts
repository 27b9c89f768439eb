import type { BulkChange } from '../../catalogue/bulk-changes.ts'
import type { BulkEdit } from '../../catalogue/bulk-edits.ts'
import type { ListQuery } from '../../pins/pin-types.ts'

/** The ids of records, or the filters of a list. */
export type Selected = string[] | ListQuery

/** Records that a job changes, and the edit of each. A deletion has no edit. */
export interface BulkSelection {
  of: Selected
  edit: BulkEdit | null
}

/** Returns the text that a job stores. */
export function storedSelection(selection: BulkSelection): string {
  return JSON.stringify(selection)
}

/** Parses the stored selection of a running job. */
export function selectionOf({ selection }: BulkChange): BulkSelection {
  return JSON.parse(selection) as BulkSelection
}
