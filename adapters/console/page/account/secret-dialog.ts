import { html } from '../markup.ts'
import { CopyButton } from '../widgets/copy-button.ts'
import { Dialog } from '../widgets/dialog.ts'

export interface Secret {
  title: string
  /** Name of the secret on its copy button. */
  what: string
  text: string
  hint?: string
}

/** Shows a new secret, which cannot be shown again later. */
export function SecretDialog({ secret, onClose }: { secret: Secret; onClose: () => void }) {
  const { title, what, text, hint } = secret
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <p>Copy this now: it is shown only once. ${hint}</p>
    <p class="secret mono" tabindex="0">${text}</p>
    <div class="buttons">
      <${CopyButton} text=${text} what=${what} label=${`Copy ${what}`} />
      <button class="primary" onClick=${onClose}>Done</button>
    </div>
  </${Dialog}>`
}
