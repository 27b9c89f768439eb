import type { BulkChange } from '../../catalogue/bulk-changes.ts'
import type { BulkEdit } from '../../catalogue/bulk-edits.ts'
import type { ListQuery } from '../pin-types.ts'

/** The ids of records, or the filters of a list. */
export type Selected = string[] | ListQuery

/** Returns the text that a job stores. A deletion has no edit. */
export function storedSelection(of: Selected, edit: BulkEdit | null): string {
  return JSON.stringify(edit === null ? of : { of, edit })
}

/** Parses the stored selection of a running job. */
export function selectionOf({ action, selection }: BulkChange): { of: Selected; edit: BulkEdit | null } {
  const stored = JSON.parse(selection) as unknown
  if (action === 'delete') return { of: stored as Selected, edit: null }
  return stored as { of: Selected; edit: BulkEdit }
}
