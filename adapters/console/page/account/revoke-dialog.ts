import { useState } from 'preact/hooks'
import type { Key } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { ConfirmDialog } from '../widgets/confirm-dialog.ts'
import { CodeField, typedCode } from './code-field.ts'

export function RevokeDialog({ of: key, onClose, onDone }: { of: Key; onClose: () => void; onDone: () => void }) {
  const { client } = useSession()
  const [code, setCode] = useState('')
  return html`<${ConfirmDialog} title=${`Revoke ${key.name}?`} label="Revoke" onClose=${onClose} onDone=${onDone}
    said=${`${key.name} is revoked`} act=${() => client.keys.revoke(key.name, { totpCode: typedCode(code) })}>
    <p>Programs that use it are refused from now on, and so are the keys that it created.</p>
    <${CodeField} value=${code} onInput=${setCode} />
  </${ConfirmDialog}>`
}
