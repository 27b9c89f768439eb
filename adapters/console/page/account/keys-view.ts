import { useCallback, useState } from 'preact/hooks'
import type { Key } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { formatInstant } from '../widgets/shown-values.ts'
import { Age, table } from '../widgets/table.ts'
import { useNow } from '../widgets/use-now.ts'
import { KeyCard, type KeyTableProps } from './key-card.ts'
import { NewKeyDialog } from './new-key-dialog.ts'
import { SnippetsDialog } from './snippets-dialog.ts'

export function KeysSection() {
  const { client } = useSession()
  const find = useCallback(() => client.keys.list(), [client])
  return html`<${KeyCard}
    title="API keys"
    makes="New key"
    find=${find}
    list=${KeyTable}
    dialog=${NewKeyDialog}
  />`
}

function KeyTable({ keys, onRevoke }: KeyTableProps) {
  const [used, setUsed] = useState<Key | null>(null)
  return html`<div>${table(keys, 'No keys yet. Programs come with one.', ({ name }) => name, [
    ['Name', key => html`<strong>${key.name}</strong><span class="under">${detailsOf(key)}</span>`, 'name'],
    ['May', ({ scopes }) => html`<span class="scopes">${scopes.map(scope => html`<code>${scope}</code> `)}</span>`],
    ['Ends', ({ expiresAt }) => html`<${Ends} at=${expiresAt} />`, 'age'],
    ['Last used', ({ lastUsed }) => (lastUsed === null ? 'never' : html`<${Age} at=${lastUsed} />`), 'age'],
    [
      'Actions',
      key => html`<span class="buttons end">
          <button class="small" aria-label=${`Use ${key.name} in a program`} onClick=${() => setUsed(key)}>Use</button>
          <button class="small danger" aria-label=${`Revoke ${key.name}`} onClick=${() => onRevoke(key)}>Revoke</button>
        </span>`,
      'actions',
    ],
  ])}
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

export function Ends({ at }: { at: string | null }) {
  const now = useNow()
  if (at === null) return html`<span>never</span>`
  return Date.parse(at) <= now ? html`<span class="badge bad">expired</span>` : html`<${Age} at=${at} />`
}
