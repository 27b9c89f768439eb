import { useState } from 'preact/hooks'
import { visibleText } from '../../../../src/domain/byte-text.ts'
import { type Edit, isHoldfastError, type Job, type JobFilter, type Upload } from '../../../client/index.ts'
import { READER_CHOICES } from '../content/target-fields.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Form } from '../widgets/action-form.ts'
import { ConfirmDialog } from '../widgets/confirm-dialog.ts'
import { Dialog } from '../widgets/dialog.ts'
import { Choice, InputField } from '../widgets/field.ts'
import { instantIn, plural } from '../widgets/shown-values.ts'
import { type Selection, selectedCount } from './selection.ts'

/** Maximum number of names in a dialog. */
const MOST_NAMES = 5

export type EditAction = 'rename' | 'timelock' | 'cluster' | 'visibility'

interface BulkDialogProps {
  selection: Selection
  onClose: () => void
  onStarted: (job: Job) => void
  onDone: () => void
}

export function DeleteSelected({ selection, onClose, onStarted, onDone }: BulkDialogProps) {
  const { jobs } = useSession().client
  const { expected, start } = useStart(selection, onStarted)
  const act = (): Promise<void> =>
    start(
      ids => jobs.deleteRecords(ids),
      filter => jobs.deleteMatching(filter),
    )
  return html`<${ConfirmDialog} title=${`Delete ${plural(expected, 'pin')}?`} label=${`Delete ${plural(expected, 'pin')}`}
    onClose=${onClose} act=${act} onDone=${onDone}>
    <${Names} selection=${selection} />
    <p>Lists and gateways lose them at once. The node keeps their content until the undo period ends.</p>
  </${ConfirmDialog}>`
}

/** Dialog with the fields of an edit. */
export function EditSelected({
  action,
  selection,
  onClose,
  onStarted,
  onDone,
}: BulkDialogProps & { action: EditAction }) {
  const { client, clusters } = useSession()
  const { expected, start } = useStart(selection, onStarted)
  const [fields, setFields] = useState<Fields>(EMPTY)
  const set = (name: keyof Fields) => (value: string) => setFields({ ...fields, [name]: value })
  const act = (): Promise<void> => {
    const edit = editOf(action, fields)
    return start(
      ids => client.jobs.editRecords(ids, edit),
      filter => client.jobs.editMatching(filter, edit),
    )
  }
  const title = `${TITLES[action]} ${plural(expected, 'pin')}`
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <${Form} label=${title} act=${act} onDone=${onDone}>
      ${
        action === 'rename' &&
        html`<div>
          <${InputField} label="Find" value=${fields.find} onInput=${set('find')} hint="Each occurrence, with the same case." />
          <${InputField} label="Replace with" value=${fields.replace} onInput=${set('replace')} />
          <${InputField} label="Put before the name" value=${fields.prefix} onInput=${set('prefix')} />
          <${InputField} label="Put after the name" value=${fields.suffix} onInput=${set('suffix')} />
        </div>`
      }
      ${
        action === 'timelock' &&
        html`<${InputField} label="Ends" type="datetime-local" value=${fields.ends} onInput=${set('ends')}
          hint="Leave it empty to keep the pins until they are deleted." />`
      }
      ${
        action === 'cluster' &&
        html`<${Choice} label="Cluster" value=${fields.cluster} onInput=${set('cluster')}
          options=${[['', 'Choose…'], ...clusters.map(({ id, label }) => [id, `${label} (${id})`])]} />`
      }
      ${
        action === 'visibility' &&
        html`<${Choice} label="Readers" value=${fields.visibility} onInput=${set('visibility')} options=${READER_CHOICES} />
          <p>Copies that others have made of public content cannot be recalled.</p>`
      }
      <p>This cannot be undone.</p>
    </${Form}>
  </${Dialog}>`
}

interface Fields {
  find: string
  replace: string
  prefix: string
  suffix: string
  ends: string
  cluster: string
  visibility: string
}

const EMPTY: Fields = { find: '', replace: '', prefix: '', suffix: '', ends: '', cluster: '', visibility: 'private' }
const TITLES = {
  rename: 'Rename',
  timelock: 'Set the end of',
  cluster: 'Move',
  visibility: 'Set the readers of',
} as const

function editOf(action: EditAction, { find, replace, prefix, suffix, ends, cluster, visibility }: Fields): Edit {
  if (action === 'rename') return { rename: { find, replace, prefix, suffix } }
  if (action === 'visibility') return { visibility: visibility as Upload['visibility'] }
  return action === 'cluster' ? { cluster } : { timelock: instantIn(ends) ?? null }
}

interface Start {
  /** Number of pins that the user confirms. */
  expected: number
  start: (
    picked: (ids: readonly string[]) => Promise<Job>,
    matching: (filter: JobFilter) => Promise<Job>,
  ) => Promise<void>
}

/** Starts jobs for a selection. After a change of the list, the next confirmation is for the number that matches now. */
function useStart({ picked, matching }: Selection, onStarted: (job: Job) => void): Start {
  const [expected, setExpected] = useState(selectedCount({ picked, matching }))
  const start: Start['start'] = async (ofPicked, ofMatching) => {
    try {
      onStarted(await (matching === null ? ofPicked([...picked.keys()]) : ofMatching({ ...matching, expected })))
    } catch (error) {
      const selected = isHoldfastError(error, 'CONFLICT') ? error.details.selected : undefined
      if (typeof selected === 'number') setExpected(selected)
      throw error
    }
  }
  return { expected, start }
}

function Names({ selection: { picked, matching } }: { selection: Selection }) {
  if (matching !== null) return html`<p>All pins that match the filters of the list.</p>`
  const names = [...picked.values()].map(({ name }) => name)
  const others = names.length - MOST_NAMES
  return html`<ul class="names">
    ${names.slice(0, MOST_NAMES).map(name => html`<li>${visibleText(name)}</li>`)}
    ${others > 0 && html`<li class="quiet">and ${plural(others, 'other')}</li>`}
  </ul>`
}
