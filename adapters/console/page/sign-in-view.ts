import { useState } from 'preact/hooks'
import { isHoldfastError, type NewSession, type SecondFactorAsked } from '../../client/index.ts'
import { keep, maySurvive } from './kept-sign-in.ts'
import { html } from './markup.ts'
import { NewPasswordForm } from './new-password-form.ts'
import { ProviderButton } from './provider-sign-in.ts'
import { newClient, type SignedIn } from './session.ts'
import { Form } from './widgets/action-form.ts'
import { InputField } from './widgets/field.ts'
import { plural } from './widgets/shown-values.ts'

const SIGN_IN = { label: 'Sign in', busy: 'Signing in…', tone: 'primary wide' }

type Way = SignedIn['kind']
const OTHER: Readonly<Record<Way, Way>> = { password: 'key', key: 'password' }

export interface SignInProps {
  /** Why the last session ended. */
  reason: string | null
  /** Token of the opened link that sets a password. Null if no link was opened. */
  token: string | null
  /** Number of uploads that go on after the sign-in. */
  waiting: number
  onSignedIn: (signedIn: SignedIn) => void
}

interface FormProps {
  onSignedIn: (signedIn: SignedIn) => Promise<void>
}

export function SignInView({ reason, token, waiting, onSignedIn: onEnd }: SignInProps) {
  // Set if the key already keeps as many tabs as it may. The user then decides.
  const [full, setFull] = useState<SignedIn | null>(null)
  const onSignedIn: FormProps['onSignedIn'] = async signedIn => {
    const kept = await keep(signedIn)
    if (kept === null) setFull(signedIn)
    else onEnd(kept)
  }
  // A new owner has a key and no password.
  const [way, setWay] = useState<Way>('key')
  const [temporaryToken, setTemporaryToken] = useState<string | null>(null)
  const [isHandedOver, setHandedOver] = useState(false)
  const choose = (value: Way): void => {
    setWay(value)
    document.getElementById(`tab-${value}`)?.focus()
  }
  const tab = (value: Way, words: string) => html`<button
    type="button"
    role="tab"
    id=${`tab-${value}`}
    aria-controls="way"
    aria-selected=${way === value ? 'true' : 'false'}
    tabindex=${way === value ? 0 : -1}
    onClick=${() => choose(value)}
    onKeyDown=${(event: KeyboardEvent) => /^Arrow(Left|Right)$/.test(event.key) && choose(OTHER[value])}
  >${words}</button>`
  const form =
    way === 'password'
      ? html`<${PasswordForm} onSignedIn=${onSignedIn} onCodeAsked=${setTemporaryToken} />`
      : html`<${KeyForm} onSignedIn=${onSignedIn} />`
  const signIn = (email: string, password: string) =>
    signInByPassword({ email, password, onSignedIn, onCodeAsked: setTemporaryToken })
  const forms = html`<div class="stack">
    <div role="tablist" aria-label="How to sign in" class="choices">${tab('key', 'API key')} ${tab('password', 'Password')}</div>
    <div role="tabpanel" id="way" aria-label="Sign in">${form}</div>
    <${ProviderButton} onAnswer=${(answer: NewSession | SecondFactorAsked) => signInBy({ onSignedIn, onCodeAsked: setTemporaryToken }, answer)}
      onHandedOver=${() => setHandedOver(true)} />
  </div>`
  if (isHandedOver) {
    return html`<main class="alone">
      <${Brand} />
      <section class="card"><p role="status">You are confirmed. Close this tab, and go on in the other one.</p></section>
    </main>`
  }
  return html`<main class="alone">
    <${Brand} />
    <section class="card">
      ${reason !== null && html`<p class="problem" role="status">${reason}</p>`}
      ${waiting > 0 && html`<p>${plural(waiting, 'upload')} will go on after your sign-in, if the account is the same.</p>`}
      ${
        full !== null
          ? html`<${FullForm} signedIn=${full} onSignedIn=${onSignedIn} onStay=${() => onEnd(full)} />`
          : temporaryToken !== null
            ? html`<${CodeForm} temporaryToken=${temporaryToken} onSignedIn=${onSignedIn} onBack=${() => setTemporaryToken(null)} />`
            : token === null
              ? forms
              : html`<${NewPasswordForm} key=${token} token=${token} onSet=${signIn} />`
      }
    </section>
    <p class="hint">
      ${maySurvive() ? 'This tab keeps you signed in over a reload, until you close it.' : 'The browser stores none of this, so you sign in again after a reload.'}
      ${' '}Pinned content is public unless you make it private: anyone with its CID can read it.
    </p>
  </main>`
}

export function Brand() {
  return html`<h1 class="row"><img src="icon.svg" alt="" width="32" height="32" /> Holdfast</h1>`
}

interface PasswordFormProps extends FormProps {
  onCodeAsked: (temporaryToken: string) => void
}

async function signInByPassword(given: PasswordFormProps & { email: string; password: string }): Promise<void> {
  const { email, password } = given
  await signInBy(
    given,
    await newClient()
      .sessions.signIn(email, password, { keep: maySurvive() })
      .catch(inWords('Wrong email or password')),
  )
}

async function signInBy({ onSignedIn, onCodeAsked }: PasswordFormProps, answer: NewSession | SecondFactorAsked) {
  if ('temporaryToken' in answer) onCodeAsked(answer.temporaryToken)
  else await onSignedIn({ credential: answer.token, user: answer.user, kind: 'password' })
}

function PasswordForm(props: PasswordFormProps) {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const signIn = () => signInByPassword({ ...props, email: email.trim(), password })
  return html`<${Form} ...${SIGN_IN} act=${signIn}>
    <${InputField} label="Email" type="email" value=${email} onInput=${setEmail} input=${{ autocomplete: 'username', required: true }} />
    <${InputField} label="Password" type="password" value=${password} onInput=${setPassword}
      hint="Forgotten? Ask the owner of this node for a link that sets a new one."
      input=${{ autocomplete: 'current-password', required: true }} />
  </${Form}>`
}

function KeyForm({ onSignedIn }: FormProps) {
  const [key, setKey] = useState('')
  const signIn = async (): Promise<void> => {
    const credential = key.trim()
    const user = await newClient(credential)
      .account.show()
      .catch(inWords('Unknown or revoked key: copy the whole key, or use another'))
    await onSignedIn({ credential, user, kind: 'key' })
  }
  // Password managers need a user name to store the key, even if its field is hidden.
  return html`<${Form} ...${SIGN_IN} act=${signIn}>
    <input type="text" name="username" autocomplete="username" value="Holdfast API key" hidden readonly />
    <${InputField} label="API key" type="password" value=${key} onInput=${setKey}
      hint="The first start of the server printed the owner’s key."
      input=${{ autocomplete: 'current-password', required: true, spellcheck: false }} />
  </${Form}>`
}

function CodeForm({ temporaryToken, onSignedIn, onBack }: FormProps & { temporaryToken: string; onBack: () => void }) {
  const [code, setCode] = useState('')
  const confirm = async (): Promise<void> => {
    const { token, user } = await newClient()
      .sessions.confirm(temporaryToken, code.trim(), { keep: maySurvive() })
      .catch(inWords('This took too long: go back and enter the password again'))
    await onSignedIn({ credential: token, user, kind: 'password' })
  }
  const back = html`<button type="button" onClick=${onBack}>Back</button>`
  return html`<${Form} ...${SIGN_IN} tone="primary" act=${confirm} before=${back}>
    <${InputField} label="Code" value=${code} onInput=${setCode} hint="From your authenticator app, or a recovery code."
      input=${{ autocomplete: 'one-time-code', required: true, autofocus: true, spellcheck: false }} />
  </${Form}>`
}

/** Offers what is possible when a key keeps as many tabs as it may. */
function FullForm({ signedIn, onSignedIn, onStay }: FormProps & { signedIn: SignedIn; onStay: () => void }) {
  const end = async (): Promise<void> => {
    await newClient(signedIn.credential).keys.endConsoles()
    await onSignedIn(signedIn)
  }
  const stay = html`<button type="button" onClick=${onStay}>Only until a reload</button>`
  return html`<${Form} label="End the others" act=${end} before=${stay}>
    <p role="status">16 tabs are signed in with this key, which is the most. End the others, or stay signed in until a reload.</p>
  </${Form}>`
}

/** Replaces the error for a refused sign-in. The original error would look like the end of a session. */
function inWords(text: string): (error: unknown) => never {
  return error => {
    throw isHoldfastError(error, 'INVALID_API_KEY') ? new Error(text) : error
  }
}
