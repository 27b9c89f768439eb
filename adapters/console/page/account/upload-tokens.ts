import { useState } from 'preact/hooks'
import type { Key } from '../../../client/index.ts'
import { html } from '../html.ts'
import { useSession } from '../session.ts'
import { Problem } from '../widgets/field.ts'
import { formatBytes, formatCount, formatInstant } from '../widgets/format.ts'
import { useLoad } from '../widgets/use-load.ts'
import { useNow } from '../widgets/use-now.ts'
import { Ends } from './keys.ts'
import { NewTokenDialog } from './new-token-dialog.ts'
import { RevokeDialog } from './revoke-dialog.ts'
import { type Secret, SecretDialog } from './secret-dialog.ts'

/** Keys for so many uploads and nothing else, to be given to others. */
export function UploadTokens() {
  const { client } = useSession()
  const { value: tokens, error, reload } = useLoad(() => client.keys.listUploadTokens(), [client])
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
  return html`<section class="card" aria-labelledby="tokens-title">
    <div class="buttons spread">
      <h2 id="tokens-title">Upload tokens</h2>
      <button class="primary" onClick=${() => setMaking(true)}>New upload token</button>
    </div>
    <p class="quiet">
      For a browser or somebody else: with one they upload straight to the node, so many times, and can do nothing else.
    </p>
    <${Problem} text=${error} />
    ${tokens?.length === 0 && html`<p class="empty">There are none.</p>`}
    ${tokens !== undefined && tokens.length > 0 && html`<${TokenTable} tokens=${tokens} onRevoke=${setRevoked} />`}
    ${isMaking && html`<${NewTokenDialog} onClose=${() => setMaking(false)} onMade=${made} />`}
    ${secret && html`<${SecretDialog} secret=${secret} onClose=${() => setSecret(null)} />`}
    ${revoked && html`<${RevokeDialog} of=${revoked} onClose=${() => setRevoked(null)} onDone=${done} />`}
  </section>`
}

function TokenTable({ tokens, onRevoke }: { tokens: readonly Key[]; onRevoke: (token: Key) => void }) {
  const now = useNow()
  return html`<div class="list"><table class="stacked">
    <thead><tr>
      <th scope="col">Name</th><th scope="col">Used</th><th scope="col">Ends</th>
      <th scope="col"><span class="unseen">Revoke</span></th>
    </tr></thead>
    <tbody>${tokens.map(
      token => html`<tr key=${token.name}>
        <td class="name"><strong>${token.name}</strong><span class="under">${detailsOf(token)}</span></td>
        <td data-label="Used">${formatCount(token.uses)} of ${formatCount(token.upload?.maxUses ?? 0)}</td>
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
    maxBytes === null ? null : `${formatBytes(maxBytes)} each`,
    cl === null ? null : `to ${cl}`,
    timelock === null ? null : `uploads end ${formatInstant(timelock)}`,
    `made ${formatInstant(createdAt)}`,
  ]
  return details.filter(detail => detail !== null && detail !== '').join(' · ')
}
