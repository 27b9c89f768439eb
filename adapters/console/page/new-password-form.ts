import { useState } from 'preact/hooks'
import { isHoldfastError } from '../../client/index.ts'
import { html } from './markup.ts'
import { newClient } from './session.ts'
import { Form } from './widgets/action-form.ts'
import { InputField } from './widgets/field.ts'

export interface NewPasswordProps {
  /** Token of the link. */
  token: string
  onSet: (email: string, password: string) => Promise<void>
}

/** Sets the password of the account that the link is for. */
export function NewPasswordForm({ token, onSet }: NewPasswordProps) {
  const [password, setPassword] = useState('')
  const set = async (): Promise<void> => {
    const email = await newClient()
      .sessions.setPassword(token, password)
      .catch(error => {
        // The code would look like the end of a session.
        throw isHoldfastError(error, 'INVALID_API_KEY') ? new Error(error.message) : error
      })
    // The link is used up, so neither a reload nor the history repeats it.
    await onSet(email, password).finally(() => location.replace('#/'))
  }
  return html`<${Form} label="Set the password" busy="Setting…" tone="primary wide" act=${set}>
    <h2>Set your password</h2>
    <${InputField} label="New password" type="password" value=${password} onInput=${setPassword}
      hint="At least 8 characters. Your other sessions end."
      input=${{ autocomplete: 'new-password', required: true, autofocus: true }} />
  </${Form}>`
}
