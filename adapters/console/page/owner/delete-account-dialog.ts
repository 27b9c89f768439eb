import type { ManagedAccount } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { ConfirmDialog } from '../widgets/confirm-dialog.ts'
import { plural } from '../widgets/shown-values.ts'

export interface DeleteAccountDialogProps {
  account: ManagedAccount
  onClose: () => void
  onDone: () => void
}

export function DeleteAccountDialog({ account, onClose, onDone }: DeleteAccountDialogProps) {
  const { client } = useSession()
  return html`<${ConfirmDialog} title=${`Delete ${account.email}?`} label="Delete the account" onClose=${onClose}
    said=${`${account.email} is deleted`} onDone=${onDone} act=${() => client.owner.deleteAccount(account.id)}>
    <p>Its keys, its sessions and ${plural(account.usage.pins, 'pin')} are deleted as well. This cannot be undone.</p>
  </${ConfirmDialog}>`
}
