import { useState } from 'preact/hooks'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Dialog } from '../widgets/dialog.ts'
import { Choice, FieldProblem, InputField, submitting } from '../widgets/field.ts'
import { useAction } from '../widgets/use-load.ts'

export interface NewAccountDialogProps {
  plans: readonly string[]
  onClose: () => void
  /** `token` is an API key of the new account. */
  onMade: (made: { email: string; token: string }) => void
}

export function NewAccountDialog({ plans, onClose, onMade }: NewAccountDialogProps) {
  const { client } = useSession()
  const [email, setEmail] = useState('')
  const [name, setName] = useState('')
  const [plan, setPlan] = useState(plans[0] ?? 'free')
  const [password, setPassword] = useState('')
  const { run, isBusy, error } = useAction()
  const submit = submitting(() =>
    run(async () => {
      const wish = { email: email.trim(), plan, name: name.trim() || undefined, password: password || undefined }
      onMade(await client.owner.createAccount(wish))
    }),
  )
  return html`<${Dialog} title="New account" onClose=${onClose}>
    <form onSubmit=${submit}>
      <${InputField} label="Email" type="email" value=${email} onInput=${setEmail} input=${{ required: true, autocomplete: 'off' }} />
      <${InputField} label="Name" value=${name} onInput=${setName} input=${{ autocomplete: 'off', maxlength: 255 }} />
      <${Choice} label="Plan" value=${plan} onInput=${setPlan} options=${plans.map(one => [one, one] as const)} />
      <${InputField} label="Password" type="password" value=${password} onInput=${setPassword} input=${{ autocomplete: 'new-password' }}
        hint="Initial password. Without one the account has only the key that is shown next." />
      <${FieldProblem} text=${error} />
      <button class="primary" disabled=${isBusy}>Make the account</button>
    </form>
  </${Dialog}>`
}
