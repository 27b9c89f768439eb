import { useState } from 'preact/hooks'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Form } from '../widgets/action-form.ts'
import { Dialog } from '../widgets/dialog.ts'
import { Choice, InputField } from '../widgets/field.ts'

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
  const make = async (): Promise<void> => {
    const wish = { email: email.trim(), plan, name: name.trim() || undefined, password: password || undefined }
    onMade(await client.owner.createAccount(wish))
  }
  return html`<${Dialog} title="New account" onClose=${onClose}>
    <${Form} label="Make the account" act=${make}>
      <${InputField} label="Email" type="email" value=${email} onInput=${setEmail} input=${{ required: true, autocomplete: 'off' }} />
      <${InputField} label="Name" value=${name} onInput=${setName} input=${{ autocomplete: 'off', maxlength: 255 }} />
      <${Choice} label="Plan" value=${plan} onInput=${setPlan} options=${plans.map(one => [one, one] as const)} />
      <${InputField} label="Password" type="password" value=${password} onInput=${setPassword} input=${{ autocomplete: 'new-password' }}
        hint="Initial password. Without one the account has only the key that is shown next." />
    </${Form}>
  </${Dialog}>`
}
