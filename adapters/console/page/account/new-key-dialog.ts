import { useState } from 'preact/hooks'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Form } from '../widgets/action-form.ts'
import { Dialog } from '../widgets/dialog.ts'
import { Choice, InputField } from '../widgets/field.ts'
import { CodeField, typedCode } from './code-field.ts'
import type { Secret } from './secret-dialog.ts'

const SCOPES: ReadonlyArray<[scope: string, words: string]> = [
  ['files:read', 'list pins and show their status'],
  ['files:write', 'upload, pin and rename'],
  ['files:delete', 'delete'],
  ['cluster:read', 'see the clusters'],
  ['share:write', 'make private content public'],
]
const DAYS: ReadonlyArray<readonly [string, string]> = [
  ['', 'Never'],
  ['7', 'In a week'],
  ['30', 'In a month'],
  ['90', 'In three months'],
  ['365', 'In a year'],
]

export function NewKeyDialog({ onClose, onMade }: { onClose: () => void; onMade: (secret: Secret) => void }) {
  const { client } = useSession()
  const [name, setName] = useState('')
  const [label, setLabel] = useState('')
  const [scopes, setScopes] = useState<readonly string[]>(['files:read', 'files:write', 'cluster:read'])
  const [days, setDays] = useState('')
  const [networks, setNetworks] = useState('')
  const [code, setCode] = useState('')
  const make = async (): Promise<void> => {
    const { token } = await client.keys.create({
      name: name.trim(),
      label: label.trim() || undefined,
      scopes,
      expiresInDays: days === '' ? undefined : Number(days),
      ipAllowlist: listOf(networks),
      totpCode: typedCode(code),
    })
    onMade({ title: `The key ${name.trim()}`, what: 'key', text: token })
  }
  const toggle = (scope: string) => (): void =>
    setScopes(scopes.includes(scope) ? scopes.filter(one => one !== scope) : [...scopes, scope])
  return html`<${Dialog} title="New key" onClose=${onClose}>
    <${Form} label="Make the key" act=${make}>
      <${InputField} label="Name" value=${name} onInput=${setName} input=${{ required: true, maxlength: 64, autocomplete: 'off' }} />
      <fieldset>
        <legend>Permissions</legend>
        ${SCOPES.map(
          ([scope, words]) => html`<label class="check" key=${scope}>
            <input type="checkbox" checked=${scopes.includes(scope)} onChange=${toggle(scope)} />
            <span>${words} <code>${scope}</code></span>
          </label>`,
        )}
      </fieldset>
      <${Choice} label="Ends" value=${days} onInput=${setDays} options=${DAYS} />
      <details>
        <summary>Note and addresses</summary>
        <${InputField} label="Note" value=${label} onInput=${setLabel} hint="For yourself." />
        <${InputField} label="Addresses" value=${networks} onInput=${setNetworks} input=${{ spellcheck: false }}
          hint="Networks that may use it, such as 192.0.2.0/24. Empty: all." />
      </details>
      <${CodeField} value=${code} onInput=${setCode} />
    </${Form}>
  </${Dialog}>`
}

function listOf(typed: string): string[] | undefined {
  const texts = typed.split(/[\s,]+/).filter(Boolean)
  return texts.length === 0 ? undefined : texts
}
