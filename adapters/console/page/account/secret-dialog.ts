import { html } from '../markup.ts'
import { CopyButton } from '../widgets/copy-button.ts'
import { Dialog } from '../widgets/dialog.ts'

export interface Secret {
  title: string
  /** What it is called on the button that copies it. */
  what: string
  text: string
  /** What to know about it. */
  hint?: string
}

/** The one time that a secret is shown. */
export function SecretDialog({ secret, onClose }: { secret: Secret; onClose: () => void }) {
  const { title, what, text, hint } = secret
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <p>It is shown this once: copy it now. ${hint}</p>
    <p class="secret mono" tabindex="0">${text}</p>
    <div class="buttons">
      <${CopyButton} text=${text} what=${what} label=${`Copy ${what}`} />
      <button class="primary" onClick=${onClose}>Done</button>
    </div>
  </${Dialog}>`
}
