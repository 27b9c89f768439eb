import { useState } from 'preact/hooks'
import type { ListOptions } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { FieldProblem } from '../widgets/field.ts'
import { plural } from '../widgets/shown-values.ts'
import { useAction } from '../widgets/use-load.ts'
import { DeleteSelected, type EditAction, EditSelected } from './bulk-dialogs.ts'
import { MOST_PICKED, selectedCount } from './selection.ts'
import type { Selecting } from './use-selection.ts'

interface SelectionBarProps {
  selecting: Selecting
  /** The filters of the list. */
  options: ListOptions
  /** Number of pins that match the filters. */
  total: number
}

/** Shows the number of selected pins and the actions on them. Renders nothing without a selection. */
export function SelectionBar({ selecting, options, total }: SelectionBarProps) {
  const { client, clusters, jobs, user } = useSession()
  const [asked, setAsked] = useState<EditAction | 'delete' | null>(null)
  const { run, isBusy, error } = useAction()
  const { selection, clear, setMatching } = selecting
  const count = selectedCount(selection)
  if (count === 0) return null
  /** The newest pin bounds the selection by the server's clock. Later uploads stay out of it. */
  const selectMatching = async (): Promise<void> => {
    const { sort: _, limit: __, ...filter } = options
    const newest = await client.pins.page(1, { ...filter, sort: 'newest', limit: 1 })
    const [first] = newest.uploads
    if (first === undefined) return clear()
    const createdBefore = new Date(Date.parse(first.createdAt) + 1)
    setMatching({ ...filter, createdBefore, expected: newest.total }, selection)
  }
  const { matching } = selection
  const close = (): void => setAsked(null)
  const done = (): void => {
    close()
    clear()
  }
  const dialog = { selection, onClose: close, onStarted: jobs.add.bind(jobs), onDone: done }
  // A dialog asks for the number of pins that are selected when it opens.
  const act = (action: EditAction | 'delete', words: string, tone = '') =>
    html`<button class=${`small ${tone}`} disabled=${isBusy} onClick=${() => setAsked(action)}>${words}</button>`
  return html`<div class="row selection" role="region" aria-label="Selection">
    <span role="status">${matching === null ? `${plural(count, 'pin')} selected` : `All ${plural(count, 'matching pin')} selected`}${
      count === MOST_PICKED && matching === null && total > count && ', the most without “all that match”'
    }</span>
    <div class="buttons">
      ${
        matching === null &&
        total > count &&
        html`<button class="plain small" disabled=${isBusy} onClick=${() => run(selectMatching)}>Select all ${plural(total, 'pin')} that match</button>`
      }
      <button class="plain small" onClick=${clear}>Clear</button>
      ${act('rename', 'Rename…')} ${user.planDetails.timelock && act('timelock', 'Set end…')}
      ${clusters.length > 1 && act('cluster', 'Move…')} ${act('visibility', 'Readers…')} ${act('delete', 'Delete…', 'danger')}
    </div>
    <${FieldProblem} text=${error} />
    ${
      asked === 'delete'
        ? html`<${DeleteSelected} ...${dialog} />`
        : asked !== null && html`<${EditSelected} action=${asked} ...${dialog} />`
    }
  </div>`
}
