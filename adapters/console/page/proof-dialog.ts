import { useEffect, useState } from 'preact/hooks'
import { isHoldfastError } from '../../client/index.ts'
import { CodeField, typedCode } from './account/code-field.ts'
import { html, type WithChildren } from './markup.ts'
import { hearAnswer, providerName } from './provider-sign-in.ts'
import { newClient, useSession } from './session.ts'
import { Dialog } from './widgets/dialog.ts'
import { FieldProblem, InputField, submitting } from './widgets/field.ts'
import { useAction, useLoad } from './widgets/use-load.ts'

export interface ProofDialogProps {
  /** The proof that the server asks for: `key`, `password` or `provider`. */
  way: string
  /** Called with true after a proof, and with false if the user gives none. */
  onEnd: (isProved: boolean) => void
}

/** Asks the user of a kept sign-in to prove to be there. */
export function ProofDialog({ way, onEnd }: ProofDialogProps) {
  return html`<${Dialog} title="Confirm that it is you" onClose=${() => onEnd(false)}>
    ${way === 'provider' ? html`<${ProviderProof} onEnd=${onEnd} />` : html`<${SecretProof} way=${way} onEnd=${onEnd} />`}
  </${Dialog}>`
}

function ProofForm({
  label,
  isBusy,
  error,
  onSubmit,
  onCancel,
  children,
}: WithChildren & {
  label: string
  isBusy: boolean
  error: string | null
  onSubmit: () => void
  onCancel: () => void
}) {
  return html`<form onSubmit=${submitting(onSubmit)}>
    <p>This outlasts your sign-in, and you signed in over 15 minutes ago.</p>
    ${children}
    <${FieldProblem} text=${error} />
    <div class="buttons">
      <button type="button" onClick=${onCancel}>Cancel</button>
      <button class="primary" disabled=${isBusy}>${label}</button>
    </div>
  </form>`
}

function SecretProof({ way, onEnd }: ProofDialogProps) {
  const { client, user } = useSession()
  const [secret, setSecret] = useState('')
  const [code, setCode] = useState('')
  const { run, isBusy, error } = useAction()
  const isKey = way === 'key'
  const submit = async (): Promise<void> => {
    const given = isKey ? { key: secret.trim() } : { password: secret }
    if (await run(() => client.sessions.prove({ ...given, code: typedCode(code) }))) onEnd(true)
  }
  return html`<${ProofForm} label="Confirm" isBusy=${isBusy} error=${error} onSubmit=${submit} onCancel=${() => onEnd(false)}>
    <input type="text" name="username" autocomplete="username" value=${isKey ? 'Holdfast API key' : user.email} hidden readonly />
    <${InputField} label=${isKey ? 'API key' : 'Password'} type="password" value=${secret} onInput=${setSecret}
      hint=${isKey ? 'The key with which you signed in.' : undefined}
      input=${{ autocomplete: 'current-password', required: true, spellcheck: false }} />
    <${CodeField} value=${code} onInput=${setCode} />
  </${ProofForm}>`
}

/**
 * Form that opens the provider in another tab, so that this page keeps what the user has typed. That tab hands the answer
 * over.
 */
function ProviderProof({ onEnd }: Pick<ProofDialogProps, 'onEnd'>) {
  const { client } = useSession()
  const [code, setCode] = useState('')
  const [answer, setAnswer] = useState<string | null>(null)
  const [isOpen, setOpen] = useState(false)
  const { run, isBusy, error } = useAction()
  const name = useLoad(providerName, [])
  const start = useLoad(() => newClient().sessions.startProvider({ proof: true }), [])
  const started = start.value
  const send = async (given: string): Promise<void> => {
    if (started === undefined) return
    const { secret } = started
    const isProved = await run(async () => {
      try {
        await client.sessions.prove({ secret, answer: given, code: typedCode(code) })
      } catch (error) {
        if (['2fa_required', '2fa_invalid'].some(code => isHoldfastError(error, code as '2fa_invalid'))) throw error
        // The answer is used up.
        setAnswer(null)
        start.reload()
        throw error
      }
    })
    if (isProved) onEnd(true)
  }
  useEffect(() => (started === undefined ? undefined : hearAnswer(started.url, setAnswer)), [started])
  useEffect(() => {
    if (answer === null) return
    setOpen(false)
    void send(answer)
  }, [answer])
  const label = name.value ?? 'your provider'
  const submit = (): void => {
    if (answer !== null) void send(answer)
    else if (started !== undefined) {
      open(started.url, '_blank', 'noopener')
      setOpen(true)
    }
  }
  return html`<${ProofForm} label=${answer === null ? `Confirm with ${label}` : 'Confirm'} isBusy=${isBusy || started === undefined}
    error=${error ?? start.error} onSubmit=${submit} onCancel=${() => onEnd(false)}>
    <${CodeField} value=${code} onInput=${setCode} />
    <p role="status" class="hint">${isOpen ? `Sign in with ${label} in the other tab.` : 'Opens in another tab.'}</p>
  </${ProofForm}>`
}
