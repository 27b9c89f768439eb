import { useState } from 'preact/hooks'
import type { Status } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Dialog } from '../widgets/dialog.ts'
import { FieldProblem, InputField, submitting } from '../widgets/field.ts'
import { notify } from '../widgets/notices.ts'
import { useAction } from '../widgets/use-load.ts'
import { removeLater } from './removals.ts'

export function RenameButton({ status, onDone }: { status: Status; onDone: () => void }) {
  const { client } = useSession()
  const [name, setName] = useState<string | null>(null)
  const { run, isBusy, error } = useAction()
  const submit = submitting(async () => {
    if (!(await run(() => client.pins.rename(status.uploadId, name ?? '')))) return
    setName(null)
    notify({ text: 'Renamed' })
    onDone()
  })
  return html`<span>
    <button onClick=${() => setName(status.name === status.cid ? '' : status.name)}>Rename</button>
    ${
      name !== null &&
      html`<${Dialog} title="Rename" onClose=${() => setName(null)}>
        <form onSubmit=${submit}>
          <${InputField} label="Name" value=${name} onInput=${setName} input=${{ required: true, maxlength: 255 }} />
          <${FieldProblem} text=${error} />
          <button class="primary" disabled=${isBusy}>Rename</button>
        </form>
      </${Dialog}>`
    }
  </span>`
}

/** Deletes pins, which the user can undo for a few seconds. */
export function DeleteButton({ status }: { status: Status }) {
  const { client } = useSession()
  const { cid, clusterId, name, peers } = status
  const remove = (cluster: string | undefined) => (): void => {
    removeLater(client, { cid, cluster, name })
    location.hash = '#/content'
  }
  if (peers.length <= 1) return html`<button class="danger" onClick=${remove(undefined)}>Delete</button>`
  return html`<span class="buttons">
    <button class="danger" onClick=${remove(clusterId)}>Delete from ${clusterId}</button>
    <button class="danger" onClick=${remove(undefined)}>Delete everywhere</button>
  </span>`
}
