import { useState } from 'preact/hooks'
import type { Key } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { ConfirmDialog } from '../widgets/confirm-dialog.ts'
import { notify } from '../widgets/notices.ts'
import { CodeField, typedCode } from './code-field.ts'

export function RevokeDialog({ of: key, onClose, onDone }: { of: Key; onClose: () => void; onDone: () => void }) {
  const { client } = useSession()
  const [code, setCode] = useState('')
  const done = (): void => {
    notify({ text: `${key.name} is revoked` })
    onDone()
  }
  return html`<${ConfirmDialog} title=${`Revoke ${key.name}?`} label="Revoke" onClose=${onClose} onDone=${done}
    act=${() => client.keys.revoke(key.name, { totpCode: typedCode(code) })}>
    <p>Programs that use it are refused from now on, and so are the keys that it created.</p>
    <${CodeField} value=${code} onInput=${setCode} />
  </${ConfirmDialog}>`
}
