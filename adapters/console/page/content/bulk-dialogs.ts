import { useState } from 'preact/hooks'
import { isHoldfastError, type Job } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { ConfirmDialog } from '../widgets/confirm-dialog.ts'
import { plural } from '../widgets/shown-values.ts'
import { type Selection, selectedCount } from './selection.ts'

/** Maximum number of names in a dialog. */
const MOST_NAMES = 5

interface BulkDialogProps {
  selection: Selection
  onClose: () => void
  onStarted: (job: Job) => void
  onDone: () => void
}

export function DeleteSelected({ selection, onClose, onStarted, onDone }: BulkDialogProps) {
  const { client } = useSession()
  const [expected, setExpected] = useState(selectedCount(selection))
  const { picked, matching } = selection
  const act = async (): Promise<void> => {
    try {
      const job =
        matching === null
          ? await client.jobs.deleteRecords([...picked.keys()])
          : await client.jobs.deleteMatching({ ...matching, expected })
      onStarted(job)
    } catch (error) {
      // The list has changed. The next confirmation is for the number that matches now.
      const selected = isHoldfastError(error, 'CONFLICT') ? error.details.selected : undefined
      if (typeof selected === 'number') setExpected(selected)
      throw error
    }
  }
  return html`<${ConfirmDialog} title=${`Delete ${plural(expected, 'pin')}?`} label=${`Delete ${plural(expected, 'pin')}`}
    onClose=${onClose} act=${act} onDone=${onDone}>
    <${Names} selection=${selection} />
    <p>Lists and gateways lose them at once. The node keeps their content until the undo period ends.</p>
  </${ConfirmDialog}>`
}

function Names({ selection: { picked, matching } }: { selection: Selection }) {
  if (matching !== null) return html`<p>All pins that match the filters of the list.</p>`
  const names = [...picked.values()].map(({ name }) => name)
  const others = names.length - MOST_NAMES
  return html`<ul class="names">
    ${names.slice(0, MOST_NAMES).map(name => html`<li>${name}</li>`)}
    ${others > 0 && html`<li class="quiet">and ${plural(others, 'other')}</li>`}
  </ul>`
}
