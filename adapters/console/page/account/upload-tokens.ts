import { useCallback } from 'preact/hooks'
import type { Key } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { formatInstant, shownBytes, shownCount } from '../widgets/shown-values.ts'
import { table } from '../widgets/table.ts'
import { KeyCard, type KeyTableProps } from './key-card.ts'
import { Ends } from './keys-view.ts'
import { NewTokenDialog } from './new-token-dialog.ts'

const ABOUT = html`<p class="quiet">
  Give one to a browser or another person: it allows a limited number of uploads, and nothing else.
</p>`

export function UploadTokens() {
  const { client } = useSession()
  const find = useCallback(() => client.keys.listUploadTokens(), [client])
  return html`<${KeyCard}
    title="Upload tokens"
    makes="New upload token"
    about=${ABOUT}
    find=${find}
    list=${TokenTable}
    dialog=${NewTokenDialog}
  />`
}

function TokenTable({ keys, onRevoke }: KeyTableProps) {
  return table(keys, 'No upload tokens yet.', ({ name }) => name, [
    ['Name', token => html`<strong>${token.name}</strong><span class="under">${detailsOf(token)}</span>`, 'name'],
    ['Used', ({ uses, upload }) => `${shownCount(uses)} of ${shownCount(upload?.maxUses ?? 0)}`],
    ['Ends', ({ expiresAt }) => html`<${Ends} at=${expiresAt} />`, 'age'],
    [
      'Revoke',
      token =>
        html`<button class="small danger" aria-label=${`Revoke ${token.name}`} onClick=${() => onRevoke(token)}>Revoke</button>`,
      'actions',
    ],
  ])
}

function detailsOf({ prefix, label, upload, createdAt }: Key): string {
  const { maxBytes = null, cl = null, timelock = null } = upload ?? {}
  const details = [
    `${prefix}…`,
    label,
    maxBytes === null ? null : `${shownBytes(maxBytes)} each`,
    cl === null ? null : `to ${cl}`,
    timelock === null ? null : `uploads end ${formatInstant(timelock)}`,
    `made ${formatInstant(createdAt)}`,
  ]
  return details.filter(detail => detail !== null && detail !== '').join(' · ')
}
