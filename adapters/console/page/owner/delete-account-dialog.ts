import type { ManagedAccount } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Dialog } from '../widgets/dialog.ts'
import { FieldProblem, submitting } from '../widgets/field.ts'
import { notify } from '../widgets/notices.ts'
import { plural } from '../widgets/shown-values.ts'
import { useAction } from '../widgets/use-load.ts'

export interface DeleteAccountDialogProps {
  account: ManagedAccount
  onClose: () => void
  onDone: () => void
}

export function DeleteAccountDialog({ account, onClose, onDone }: DeleteAccountDialogProps) {
  const { client } = useSession()
  const { run, isBusy, error } = useAction()
  const submit = submitting(async () => {
    if (!(await run(() => client.owner.deleteAccount(account.id)))) return
    notify({ text: `${account.email} is deleted` })
    onDone()
  })
  return html`<${Dialog} title=${`Delete ${account.email}?`} onClose=${onClose}>
    <form onSubmit=${submit}>
      <p>Its keys, its sessions and ${plural(account.usage.pins, 'pin')} are deleted as well. This cannot be undone.</p>
      <${FieldProblem} text=${error} />
      <div class="buttons">
        <button type="button" onClick=${onClose}>Keep it</button>
        <button class="danger" disabled=${isBusy}>Delete the account</button>
      </div>
    </form>
  </${Dialog}>`
}
