import { useState } from 'preact/hooks'
import { ANYWHERE, TargetFields, targetOptions } from '../content/target-fields.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Form } from '../widgets/action-form.ts'
import { Dialog } from '../widgets/dialog.ts'
import { Choice, InputField } from '../widgets/field.ts'
import { CodeField, typedCode } from './code-field.ts'
import type { Secret } from './secret-dialog.ts'

const MB = 1_000_000
const SECONDS: ReadonlyArray<readonly [string, string]> = [
  ['3600', 'In an hour'],
  ['86400', 'In a day'],
  ['604800', 'In a week'],
]

export function NewTokenDialog({ onClose, onMade }: { onClose: () => void; onMade: (secret: Secret) => void }) {
  const { client } = useSession()
  const [name, setName] = useState('')
  const [uses, setUses] = useState('1')
  const [megabytes, setMegabytes] = useState('')
  const [seconds, setSeconds] = useState('3600')
  const [target, setTarget] = useState(ANYWHERE)
  const [code, setCode] = useState('')
  const make = async (): Promise<void> => {
    const { cluster, timelock } = targetOptions(target)
    const { token, name: given } = await client.keys.createUploadToken({
      name: name.trim() || undefined,
      maxUses: Number(uses),
      maxBytes: megabytes === '' ? undefined : Math.round(Number(megabytes) * MB),
      expiresInSeconds: Number(seconds),
      cl: cluster,
      timelock: timelock === undefined ? undefined : new Date(timelock).toISOString(),
      totpCode: typedCode(code),
    })
    onMade({ title: `The upload token ${given}`, what: 'token', text: token })
  }
  return html`<${Dialog} title="New upload token" onClose=${onClose}>
    <${Form} label="Make the token" act=${make}>
      <${InputField} label="Name" value=${name} onInput=${setName} hint="May be empty." input=${{ maxlength: 64, autocomplete: 'off' }} />
      <div class="two">
        <${InputField} label="Uploads" type="number" value=${uses} onInput=${setUses} input=${{ required: true, min: 1, max: 10_000 }} />
        <${InputField} label="Most MB of one upload" type="number" value=${megabytes} onInput=${setMegabytes} hint="Empty: the limit of the plan." input=${{ min: 0, step: 'any' }} />
      </div>
      <${Choice} label="The token ends" value=${seconds} onInput=${setSeconds} options=${SECONDS} />
      <details>
        <summary>Cluster and expiry of its uploads</summary>
        <${TargetFields} target=${target} onChange=${setTarget} />
      </details>
      <${CodeField} value=${code} onInput=${setCode} />
    </${Form}>
  </${Dialog}>`
}
