import { useState } from 'preact/hooks'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { FieldProblem, InputField, submitting } from '../widgets/field.ts'
import { notify } from '../widgets/notices.ts'
import { useAction } from '../widgets/use-load.ts'
import { SecondFactorView } from './second-factor-view.ts'
import { SessionList } from './session-list.ts'

/** Shows password, second factor and sessions, but not to a user who signed in with a key. */
export function Security() {
  const { kind } = useSession()
  if (kind === 'key') {
    return html`<div class="stack">
      <section class="card">
        <h2>Security</h2>
        <p>You signed in with an API key. Sign in with the password to see password, second factor and sessions.</p>
      </section>
      <${Everywhere} what="all tabs and browsers that are signed in with your key. Programs that use the key go on." />
    </div>`
  }
  return html`<div class="stack">
    <div class="two"><${Password} /><${SecondFactorView} /></div>
    <${SessionList} />
    <${Everywhere} what="all sessions of your account, this one too. Keys stay valid." />
  </div>`
}

function Everywhere({ what }: { what: string }) {
  const { signOut } = useSession()
  const { run, isBusy, error } = useAction()
  return html`<section class="card" aria-labelledby="everywhere-title">
    <h2 id="everywhere-title">Sign out everywhere</h2>
    <p>Ends ${what}</p>
    <${FieldProblem} text=${error} />
    <button class="danger" disabled=${isBusy} onClick=${() => run(() => signOut(true))}>End all sign-ins</button>
  </section>`
}

function Password() {
  const { client, user } = useSession()
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const { run, isBusy, error } = useAction()
  const submit = submitting(async () => {
    if (!(await run(() => client.account.changePassword(current, next)))) return
    setCurrent('')
    setNext('')
    notify({ text: 'Password changed, all other sessions ended' })
  })
  return html`<section class="card" aria-labelledby="password-title">
    <h2 id="password-title">Password</h2>
    <form onSubmit=${submit}>
      <input type="text" name="username" autocomplete="username" value=${user.email} hidden readonly />
      <${InputField} label="Current password" type="password" value=${current} onInput=${setCurrent}
        input=${{ required: true, autocomplete: 'current-password' }} />
      <${InputField} label="New password" type="password" value=${next} onInput=${setNext}
        hint="At least 8 characters. All other sessions end."
        input=${{ required: true, autocomplete: 'new-password' }} />
      <${FieldProblem} text=${error} />
      <button disabled=${isBusy}>Change it</button>
    </form>
  </section>`
}
