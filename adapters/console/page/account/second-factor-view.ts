import { useState } from 'preact/hooks'
import type { SecondFactorSetup } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { CopyButton } from '../widgets/copy-button.ts'
import { Dialog } from '../widgets/dialog.ts'
import { FieldProblem, InputField, submitting } from '../widgets/field.ts'
import { lazily } from '../widgets/lazily.ts'
import { notify } from '../widgets/notices.ts'
import { useAction } from '../widgets/use-load.ts'
import { type Secret, SecretDialog } from './secret-dialog.ts'

const QrCode = lazily(() => import('../widgets/qr-code.ts').then(({ QrCode }) => QrCode))

export function SecondFactorView() {
  const { client, user, refresh } = useSession()
  const [setup, setSetup] = useState<SecondFactorSetup | null>(null)
  const [codes, setCodes] = useState<Secret | null>(null)
  const { run, isBusy, error } = useAction()
  const begin = (): Promise<boolean> => run(async () => setSetup(await client.secondFactor.setUp()))
  const enabled = (recoveryCodes: readonly string[]): void => {
    setSetup(null)
    setCodes({
      title: 'Recovery codes',
      what: 'codes',
      text: recoveryCodes.join('\n'),
      hint: 'Each works once instead of a code, if you lose the app.',
    })
    refresh()
  }
  return html`<section class="card" aria-labelledby="factor-title">
    <h2 id="factor-title">Second factor <span class=${user.twoFactorEnabled ? 'badge good' : 'badge'}>${user.twoFactorEnabled ? 'on' : 'off'}</span></h2>
    ${
      user.twoFactorEnabled
        ? html`<${TurnOff} />`
        : html`<p>With it you need a code of an authenticator app to sign in, and to create and revoke keys.</p>
            <button onClick=${begin} disabled=${isBusy}>Set it up</button>`
    }
    <${FieldProblem} text=${error} />
    ${setup && html`<${SetUpDialog} setup=${setup} onClose=${() => setSetup(null)} onEnabled=${enabled} />`}
    ${codes && html`<${SecretDialog} secret=${codes} onClose=${() => setCodes(null)} />`}
  </section>`
}

interface SetUpProps {
  setup: SecondFactorSetup
  onClose: () => void
  onEnabled: (recoveryCodes: readonly string[]) => void
}

function SetUpDialog({ setup, onClose, onEnabled }: SetUpProps) {
  const { client } = useSession()
  const [code, setCode] = useState('')
  const { run, isBusy, error } = useAction()
  const submit = submitting(() => run(async () => onEnabled(await client.secondFactor.enable(code.trim()))))
  return html`<${Dialog} title="Set up the second factor" onClose=${onClose}>
    <form onSubmit=${submit}>
      <p>Scan this with your authenticator app, then enter its code.</p>
      <${QrCode} text=${setup.otpauthUrl} label="The secret, for an authenticator app" />
      <p class="hint">Or enter the secret: <code>${setup.secret}</code> <${CopyButton} text=${setup.secret} what="secret" /></p>
      <${InputField} label="Code" value=${code} onInput=${setCode}
        input=${{ required: true, autocomplete: 'one-time-code', inputmode: 'numeric', spellcheck: false }} />
      <${FieldProblem} text=${error} />
      <button class="primary" disabled=${isBusy}>Turn it on</button>
    </form>
  </${Dialog}>`
}

function TurnOff() {
  const { client, refresh } = useSession()
  const [code, setCode] = useState('')
  const { run, isBusy, error } = useAction()
  const submit = submitting(async () => {
    if (!(await run(() => client.secondFactor.disable({ code: code.trim() })))) return
    notify({ text: 'The second factor is off' })
    refresh()
  })
  return html`<form onSubmit=${submit}>
    <${InputField} label="Code" value=${code} onInput=${setCode} hint="From the app, or a recovery code."
      input=${{ required: true, autocomplete: 'one-time-code', spellcheck: false }} />
    <${FieldProblem} text=${error} />
    <button class="danger" disabled=${isBusy}>Turn it off</button>
  </form>`
}
