import { useCallback, useState } from 'preact/hooks'
import type { Key } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { formatAge, formatInstant } from '../widgets/shown-values.ts'
import { useNow } from '../widgets/use-now.ts'
import { KeyCard } from './key-card.ts'
import { NewKeyDialog } from './new-key-dialog.ts'
import { SnippetsDialog } from './snippets-dialog.ts'

export function KeysSection() {
  const { client } = useSession()
  const find = useCallback(() => client.keys.list(), [client])
  return html`<${KeyCard}
    id="keys-title"
    title="API keys"
    makes="New key"
    none="No keys yet. Programs come with one."
    find=${find}
    table=${KeyTable}
    dialog=${NewKeyDialog}
  />`
}

function KeyTable({ keys, onRevoke }: { keys: readonly Key[]; onRevoke: (key: Key) => void }) {
  const now = useNow()
  const [used, setUsed] = useState<Key | null>(null)
  return html`<div class="list"><table class="stacked">
    <thead><tr>
      <th scope="col">Name</th><th scope="col">May</th><th scope="col">Ends</th><th scope="col">Last used</th>
      <th scope="col"><span class="unseen">Actions</span></th>
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
        <td><span class="buttons end">
          <button class="small" aria-label=${`Use ${key.name} in a program`} onClick=${() => setUsed(key)}>Use</button>
          <button class="small danger" aria-label=${`Revoke ${key.name}`} onClick=${() => onRevoke(key)}>Revoke</button>
        </span></td>
      </tr>`,
    )}</tbody>
  </table>
  ${used && html`<${SnippetsDialog} of=${used} onClose=${() => setUsed(null)} />`}</div>`
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

export function Ends({ at, now }: { at: string | null; now: number }) {
  if (at === null) return html`<span>never</span>`
  if (Date.parse(at) <= now) return html`<span class="badge bad">expired</span>`
  return html`<span title=${formatInstant(at)}>${formatAge(at, now)}</span>`
}
