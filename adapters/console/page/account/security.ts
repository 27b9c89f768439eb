import { useState } from 'preact/hooks'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Form } from '../widgets/action-form.ts'
import { Card } from '../widgets/card.ts'
import { InputField } from '../widgets/field.ts'
import { useAction } from '../widgets/use-load.ts'
import { SecondFactorView } from './second-factor-view.ts'
import { SessionList } from './session-list.ts'

/** Shows password, second factor and sessions, but not to a user who signed in with a key. */
export function Security() {
  const { kind } = useSession()
  if (kind === 'key') {
    return html`<div class="stack">
      <${Card} title="Security">
        <p>You signed in with an API key. Sign in with the password to see password, second factor and sessions.</p>
      </${Card}>
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
  return html`<${Card} title="Sign out everywhere" error=${error}>
    <p>Ends ${what}</p>
    <button class="danger" disabled=${isBusy} onClick=${() => run(() => signOut(true))}>End all sign-ins</button>
  </${Card}>`
}

function Password() {
  const { client, user } = useSession()
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const change = async (): Promise<void> => {
    await client.account.changePassword(current, next)
    setCurrent('')
    setNext('')
  }
  return html`<${Card} title="Password">
    <${Form} label="Change it" tone="" act=${change} said="Password changed, all other sessions ended">
      <input type="text" name="username" autocomplete="username" value=${user.email} hidden readonly />
      <${InputField} label="Current password" type="password" value=${current} onInput=${setCurrent}
        input=${{ required: true, autocomplete: 'current-password' }} />
      <${InputField} label="New password" type="password" value=${next} onInput=${setNext}
        hint="At least 8 characters. All other sessions end."
        input=${{ required: true, autocomplete: 'new-password' }} />
    </${Form}>
  </${Card}>`
}
