import { useRef, useState } from 'preact/hooks'
import type { JobFilter } from '../../../client/index.ts'
import { NOTHING, type Picked, pick, rowsBetween, type Selection } from './selection.ts'

export interface Selecting {
  selection: Selection
  isSelected: (row: Picked) => boolean
  /** @param isRange true to change all rows between this one and the last clicked one */
  toggle: (row: Picked, isOn: boolean, isRange: boolean) => void
  toggleAll: (isOn: boolean) => void
  /** Selects all that match, unless the user has changed the given selection meanwhile. */
  setMatching: (filter: JobFilter, from: Selection) => void
  clear: () => void
}

/** Keeps the selection of a list while the user turns its pages. */
export function useSelection(rows: readonly Picked[]): Selecting {
  const [selection, setSelection] = useState(NOTHING)
  const last = useRef<string | null>(null)
  const { matching, picked } = selection
  /** If all matching pins are selected, a click on one row keeps only the other rows of this page selected. */
  const base = (): Selection => (matching === null ? selection : pick(NOTHING, rows, true))
  return {
    selection,
    isSelected: ({ uploadId }) => matching !== null || picked.has(uploadId),
    toggle: (row, isOn, isRange) => {
      setSelection(pick(base(), rowsBetween(rows, isRange ? last.current : null, row.uploadId), isOn))
      last.current = row.uploadId
    },
    toggleAll: isOn => setSelection(pick(base(), rows, isOn)),
    setMatching: (filter, from) => setSelection(now => (now === from ? { picked: new Map(), matching: filter } : now)),
    clear: () => setSelection(NOTHING),
  }
}
