import { useState } from 'preact/hooks'
import type { Key } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Dialog } from '../widgets/dialog.ts'
import { FieldProblem, submitting } from '../widgets/field.ts'
import { notify } from '../widgets/notices.ts'
import { useAction } from '../widgets/use-load.ts'
import { CodeField, typedCode } from './code-field.ts'

export function RevokeDialog({ of: key, onClose, onDone }: { of: Key; onClose: () => void; onDone: () => void }) {
  const { client } = useSession()
  const [code, setCode] = useState('')
  const { run, isBusy, error } = useAction()
  const submit = submitting(async () => {
    if (!(await run(() => client.keys.revoke(key.name, { totpCode: typedCode(code) })))) return
    notify({ text: `${key.name} is revoked` })
    onDone()
  })
  return html`<${Dialog} title=${`Revoke ${key.name}?`} onClose=${onClose}>
    <form onSubmit=${submit}>
      <p>Programs that use it are refused from now on, and so are the keys that it created.</p>
      <${CodeField} value=${code} onInput=${setCode} />
      <${FieldProblem} text=${error} />
      <div class="buttons">
        <button type="button" onClick=${onClose}>Keep it</button>
        <button class="danger" disabled=${isBusy}>Revoke</button>
      </div>
    </form>
  </${Dialog}>`
}
