import type { ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import type { Key } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { Card } from '../widgets/card.ts'
import { useLoad } from '../widgets/use-load.ts'
import { RevokeDialog } from './revoke-dialog.ts'
import { type Secret, SecretDialog } from './secret-dialog.ts'

export interface KeyTableProps {
  /** Undefined until they are loaded. */
  keys: readonly Key[] | undefined
  onRevoke: (key: Key) => void
}

interface KeyCardProps {
  title: string
  /** Label of the button that creates a key. */
  makes: string
  /** Explains what the keys are for. */
  about?: unknown
  /** If this function changes, the card loads the keys again. */
  find: () => Promise<readonly Key[]>
  list: ComponentType<KeyTableProps>
  dialog: ComponentType<{ onClose: () => void; onMade: (secret: Secret) => void }>
}

export function KeyCard({ title, makes, about, find, list, dialog }: KeyCardProps) {
  const { value: keys, error, reload } = useLoad(find, [find])
  const [isMaking, setMaking] = useState(false)
  const [secret, setSecret] = useState<Secret | null>(null)
  const [revoked, setRevoked] = useState<Key | null>(null)
  const made = (secret: Secret): void => {
    setMaking(false)
    setSecret(secret)
    reload()
  }
  const act = html`<button class="primary" onClick=${() => setMaking(true)}>${makes}</button>`
  return html`<${Card} title=${title} error=${error} act=${act}>
    ${about}
    <${list} keys=${keys} onRevoke=${setRevoked} />
    ${isMaking && html`<${dialog} onClose=${() => setMaking(false)} onMade=${made} />`}
    ${secret && html`<${SecretDialog} secret=${secret} onClose=${() => setSecret(null)} />`}
    ${revoked && html`<${RevokeDialog} of=${revoked} onClose=${() => setRevoked(null)} onDone=${reload} />`}
  </${Card}>`
}
