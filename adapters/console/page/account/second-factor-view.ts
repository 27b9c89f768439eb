import { useState } from 'preact/hooks'
import type { SecondFactorSetup } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Form } from '../widgets/action-form.ts'
import { Card } from '../widgets/card.ts'
import { CopyButton } from '../widgets/copy-button.ts'
import { Dialog } from '../widgets/dialog.ts'
import { InputField } from '../widgets/field.ts'
import { lazily } from '../widgets/lazily.ts'
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
  const isOn = user.twoFactorEnabled
  const title = html`<span>Second factor <span class=${isOn ? 'badge good' : 'badge'}>${isOn ? 'on' : 'off'}</span></span>`
  return html`<${Card} title=${title} error=${error}>
    ${
      isOn
        ? html`<${TurnOff} />`
        : html`<p>With it you need a code of an authenticator app to sign in, and to create and revoke keys.</p>
            <button onClick=${begin} disabled=${isBusy}>Set it up</button>`
    }
    ${setup && html`<${SetUpDialog} setup=${setup} onClose=${() => setSetup(null)} onEnabled=${enabled} />`}
    ${codes && html`<${SecretDialog} secret=${codes} onClose=${() => setCodes(null)} />`}
  </${Card}>`
}

interface SetUpProps {
  setup: SecondFactorSetup
  onClose: () => void
  onEnabled: (recoveryCodes: readonly string[]) => void
}

function SetUpDialog({ setup, onClose, onEnabled }: SetUpProps) {
  const { client } = useSession()
  const [code, setCode] = useState('')
  const enable = async () => onEnabled(await client.secondFactor.enable(code.trim()))
  return html`<${Dialog} title="Set up the second factor" onClose=${onClose}>
    <${Form} label="Turn it on" act=${enable}>
      <p>Scan this with your authenticator app, then enter its code.</p>
      <${QrCode} text=${setup.otpauthUrl} label="The secret, for an authenticator app" />
      <p class="hint">Or enter the secret: <code>${setup.secret}</code> <${CopyButton} text=${setup.secret} what="secret" /></p>
      <${InputField} label="Code" value=${code} onInput=${setCode}
        input=${{ required: true, autocomplete: 'one-time-code', inputmode: 'numeric', spellcheck: false }} />
    </${Form}>
  </${Dialog}>`
}

function TurnOff() {
  const { client, refresh } = useSession()
  const [code, setCode] = useState('')
  const disable = () => client.secondFactor.disable({ code: code.trim() })
  return html`<${Form} label="Turn it off" tone="danger" act=${disable} said="The second factor is off" onDone=${refresh}>
    <${InputField} label="Code" value=${code} onInput=${setCode} hint="From the app, or a recovery code."
      input=${{ required: true, autocomplete: 'one-time-code', spellcheck: false }} />
  </${Form}>`
}
