import { useState } from 'preact/hooks'
import type { Key } from '../../../client/index.ts'
import { html } from '../html.ts'
import { useSession } from '../session.ts'
import { Problem } from '../widgets/field.ts'
import { formatAge, formatInstant } from '../widgets/format.ts'
import { useLoad } from '../widgets/use-load.ts'
import { useNow } from '../widgets/use-now.ts'
import { NewKeyDialog } from './new-key-dialog.ts'
import { RevokeDialog } from './revoke-dialog.ts'
import { type Secret, SecretDialog } from './secret-dialog.ts'

/** The keys that programs come with. */
export function KeysSection() {
  const { client } = useSession()
  const { value: keys, error, reload } = useLoad(() => client.keys.list(), [client])
  const [isMaking, setMaking] = useState(false)
  const [secret, setSecret] = useState<Secret | null>(null)
  const [revoked, setRevoked] = useState<Key | null>(null)
  const made = (secret: Secret): void => {
    setMaking(false)
    setSecret(secret)
    reload()
  }
  const done = (): void => {
    setRevoked(null)
    reload()
  }
  return html`<section class="card" aria-labelledby="keys-title">
    <div class="buttons spread">
      <h2 id="keys-title">API keys</h2>
      <button class="primary" onClick=${() => setMaking(true)}>New key</button>
    </div>
    <${Problem} text=${error} />
    ${keys?.length === 0 && html`<p class="empty">No keys yet. Programs come with one.</p>`}
    ${keys !== undefined && keys.length > 0 && html`<${KeyTable} keys=${keys} onRevoke=${setRevoked} />`}
    ${isMaking && html`<${NewKeyDialog} onClose=${() => setMaking(false)} onMade=${made} />`}
    ${secret && html`<${SecretDialog} secret=${secret} onClose=${() => setSecret(null)} />`}
    ${revoked && html`<${RevokeDialog} of=${revoked} onClose=${() => setRevoked(null)} onDone=${done} />`}
  </section>`
}

function KeyTable({ keys, onRevoke }: { keys: readonly Key[]; onRevoke: (key: Key) => void }) {
  const now = useNow()
  return html`<div class="list"><table class="stacked">
    <thead><tr>
      <th scope="col">Name</th><th scope="col">May</th><th scope="col">Ends</th><th scope="col">Last used</th>
      <th scope="col"><span class="unseen">Revoke</span></th>
    </tr></thead>
    <tbody>${keys.map(
      key => html`<tr key=${key.name}>
        <td class="name">
          <strong>${key.name}</strong>
          <span class="under">${detailsOf(key)}</span>
        </td>
        <td data-label="May"><span class="scopes">${key.scopes.map(scope => html`<code>${scope}</code> `)}</span></td>
        <td class="age" data-label="Ends"><${Ends} at=${key.expiresAt} now=${now} /></td>
        <td class="age" data-label="Last used" title=${key.lastUsed === null ? '' : formatInstant(key.lastUsed)}>${
          key.lastUsed === null ? 'never' : formatAge(key.lastUsed, now)
        }</td>
        <td><button class="small danger" aria-label=${`Revoke ${key.name}`} onClick=${() => onRevoke(key)}>Revoke</button></td>
      </tr>`,
    )}</tbody>
  </table></div>`
}

function detailsOf({ prefix, label, parent, ipAllowlist, createdAt }: Key): string {
  const details = [
    prefix === '' ? null : `${prefix}…`,
    label,
    parent === null ? null : `made by ${parent}`,
    ipAllowlist.length === 0 ? null : `from ${ipAllowlist.join(', ')}`,
    `made ${formatInstant(createdAt)}`,
  ]
  return details.filter(detail => detail !== null && detail !== '').join(' · ')
}

/** When something ends, or that it has. */
export function Ends({ at, now }: { at: string | null; now: number }) {
  if (at === null) return html`<span>never</span>`
  if (Date.parse(at) <= now) return html`<span class="badge bad">expired</span>`
  return html`<span title=${formatInstant(at)}>${formatAge(at, now)}</span>`
}
