import type { ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import type { Key } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { FieldProblem } from '../widgets/field.ts'
import { useLoad } from '../widgets/use-load.ts'
import { RevokeDialog } from './revoke-dialog.ts'
import { type Secret, SecretDialog } from './secret-dialog.ts'

export function KeyCard({
  id,
  title,
  makes,
  about,
  none,
  find,
  table,
  dialog,
}: {
  id: string
  title: string
  /** Label of the button that creates a key. */
  makes: string
  /** Explains what the keys are for. */
  about?: unknown
  /** Replaces an empty list. */
  none: string
  /** If this function changes, the card loads the keys again. */
  find: () => Promise<readonly Key[]>
  table: ComponentType<{ keys: readonly Key[]; onRevoke: (key: Key) => void }>
  dialog: ComponentType<{ onClose: () => void; onMade: (secret: Secret) => void }>
}) {
  const { value: keys, error, reload } = useLoad(find, [find])
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
  return html`<section class="card" aria-labelledby=${id}>
    <div class="buttons spread">
      <h2 id=${id}>${title}</h2>
      <button class="primary" onClick=${() => setMaking(true)}>${makes}</button>
    </div>
    ${about}
    <${FieldProblem} text=${error} />
    ${keys?.length === 0 && html`<p class="empty">${none}</p>`}
    ${keys !== undefined && keys.length > 0 && html`<${table} keys=${keys} onRevoke=${setRevoked} />`}
    ${isMaking && html`<${dialog} onClose=${() => setMaking(false)} onMade=${made} />`}
    ${secret && html`<${SecretDialog} secret=${secret} onClose=${() => setSecret(null)} />`}
    ${revoked && html`<${RevokeDialog} of=${revoked} onClose=${() => setRevoked(null)} onDone=${done} />`}
  </section>`
}
