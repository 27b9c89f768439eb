import { useState } from 'preact/hooks'
import type { Status } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { ConfirmDialog } from '../widgets/confirm-dialog.ts'
import { Dialog } from '../widgets/dialog.ts'
import { FieldProblem, InputField, submitting } from '../widgets/field.ts'
import { notify } from '../widgets/notices.ts'
import { useAction } from '../widgets/use-load.ts'

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

/** Buttons that delete pins after a confirmation and return to the list. */
export function DeleteButton({ status }: { status: Status }) {
  const { client } = useSession()
  const { cid, clusterId, name, peers } = status
  const [asked, setAsked] = useState<{ cluster?: string } | null>(null)
  const done = (): void => {
    notify({ text: `${name} is deleted` })
    location.hash = '#/content'
  }
  const button = (target: { cluster?: string }, words: string) =>
    html`<button class="danger" onClick=${() => setAsked(target)}>${words}</button>`
  return html`<span class="buttons">
    ${
      peers.length <= 1
        ? button({}, 'Delete')
        : html`${button({ cluster: clusterId }, `Delete from ${clusterId}`)} ${button({}, 'Delete everywhere')}`
    }
    ${
      asked !== null &&
      html`<${ConfirmDialog} title=${`Delete ${name}?`} label="Delete it" onClose=${() => setAsked(null)}
        onDone=${done} act=${() => client.pins.remove(cid, asked)}>
        <p>All records of this content ${
          asked.cluster === undefined ? 'in all clusters' : html`in <code>${asked.cluster}</code>`
        } are deleted. The node deletes the content after its grace period, unless another account keeps it.</p>
      </${ConfirmDialog}>`
    }
  </span>`
}
