import type { ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import type { Key } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { FieldProblem } from '../widgets/field.ts'
import { useLoad } from '../widgets/use-load.ts'
import { RevokeDialog } from './revoke-dialog.ts'
import { type Secret, SecretDialog } from './secret-dialog.ts'

/** What there is of one kind of key: told, made and revoked. */
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
  /** What stands on the button that makes one. */
  makes: string
  /** A paragraph on what they are for. */
  about?: unknown
  /** What is said while there is none. */
  none: string
  /** Finds them; another function finds others. */
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
