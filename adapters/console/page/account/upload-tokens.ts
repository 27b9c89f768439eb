import { useCallback } from 'preact/hooks'
import type { Key } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { formatInstant, shownBytes, shownCount } from '../widgets/shown-values.ts'
import { useNow } from '../widgets/use-now.ts'
import { KeyCard } from './key-card.ts'
import { Ends } from './keys-view.ts'
import { NewTokenDialog } from './new-token-dialog.ts'

const ABOUT = html`<p class="quiet">
  Give one to a browser or another person: it allows a limited number of uploads, and nothing else.
</p>`

export function UploadTokens() {
  const { client } = useSession()
  const find = useCallback(() => client.keys.listUploadTokens(), [client])
  return html`<${KeyCard}
    id="tokens-title"
    title="Upload tokens"
    makes="New upload token"
    about=${ABOUT}
    none="No upload tokens yet."
    find=${find}
    table=${TokenTable}
    dialog=${NewTokenDialog}
  />`
}

function TokenTable({ keys: tokens, onRevoke }: { keys: readonly Key[]; onRevoke: (token: Key) => void }) {
  const now = useNow()
  return html`<div class="list"><table class="stacked">
    <thead><tr>
      <th scope="col">Name</th><th scope="col">Used</th><th scope="col">Ends</th>
      <th scope="col"><span class="unseen">Revoke</span></th>
    </tr></thead>
    <tbody>${tokens.map(
      token => html`<tr key=${token.name}>
        <td class="name"><strong>${token.name}</strong><span class="under">${detailsOf(token)}</span></td>
        <td data-label="Used">${shownCount(token.uses)} of ${shownCount(token.upload?.maxUses ?? 0)}</td>
        <td class="age" data-label="Ends"><${Ends} at=${token.expiresAt} now=${now} /></td>
        <td><button class="small danger" aria-label=${`Revoke ${token.name}`} onClick=${() => onRevoke(token)}>Revoke</button></td>
      </tr>`,
    )}</tbody>
  </table></div>`
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
