import { useState } from 'preact/hooks'
import { isHoldfastError } from '../../client/index.ts'
import { html } from './markup.ts'
import { newClient } from './session.ts'
import { FieldProblem, InputField, submitting } from './widgets/field.ts'
import { useAction } from './widgets/use-load.ts'

export interface NewPasswordProps {
  /** Token of the link. */
  token: string
  onSet: (email: string, password: string) => Promise<void>
}

/** Sets the password of the account that the link is for. */
export function NewPasswordForm({ token, onSet }: NewPasswordProps) {
  const [password, setPassword] = useState('')
  const { run, isBusy, error } = useAction()
  const submit = submitting(() =>
    run(async () => {
      const email = await newClient()
        .sessions.setPassword(token, password)
        .catch(error => {
          // The code would look like the end of a session.
          throw isHoldfastError(error, 'INVALID_API_KEY') ? new Error(error.message) : error
        })
      // The link is used up, so neither a reload nor the history repeats it.
      await onSet(email, password).finally(() => location.replace('#/'))
    }),
  )
  return html`<form onSubmit=${submit}>
    <h2>Set your password</h2>
    <${InputField} label="New password" type="password" value=${password} onInput=${setPassword}
      hint="At least 8 characters. Your other sessions end."
      input=${{ autocomplete: 'new-password', required: true, autofocus: true }} />
    <${FieldProblem} text=${error} />
    <button class="primary wide" disabled=${isBusy}>${isBusy ? 'Setting…' : 'Set the password'}</button>
  </form>`
}
