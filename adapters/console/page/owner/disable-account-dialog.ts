import type { ManagedAccount } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { ConfirmDialog } from '../widgets/confirm-dialog.ts'

interface DisableAccountDialogProps {
  account: ManagedAccount
  onClose: () => void
  onDone: () => void
}

export function DisableAccountDialog({ account: { id, email }, onClose, onDone }: DisableAccountDialogProps) {
  const { client } = useSession()
  return html`<${ConfirmDialog} title=${`Disable ${email}?`} label="Disable it" onClose=${onClose} onDone=${onDone}
    said=${`${email} is disabled`} act=${() => client.owner.setDisabled(id, true)}>
    <p>The keys and sessions of the account are refused at once. Its content stays, and you can enable it again.</p>
  </${ConfirmDialog}>`
}
