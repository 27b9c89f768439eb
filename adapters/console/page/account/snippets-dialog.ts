import { useState } from 'preact/hooks'
import type { Key } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { CopyButton } from '../widgets/copy-button.ts'
import { Dialog } from '../widgets/dialog.ts'
import { environmentOf, type KeySnippet, snippetsFor } from './key-snippets.ts'

/** Shows programs that use a key. They read the key from the environment, because the server stores only its hash. */
export function SnippetsDialog({ of, onClose }: { of: Key; onClose: () => void }) {
  const snippets = snippetsFor(of.scopes)
  const [language, setLanguage] = useState<KeySnippet['language']>('curl')
  const shown = snippets.find(snippet => snippet.language === language)
  const environment = environmentOf(new URL('../api/v3', document.baseURI).href)
  const button = ({ language: one }: KeySnippet) =>
    html`<button type="button" aria-pressed=${one === language ? 'true' : 'false'} onClick=${() => setLanguage(one)}>${one}</button>`
  return html`<${Dialog} title=${`Use ${of.name}`} onClose=${onClose} isWide=${true}>
    ${
      shown === undefined
        ? html`<p>This key may neither upload nor list.</p>`
        : html`<div>
            <p>Set the environment once, and replace <code>${'<the key>'}</code>:</p>
            <${Code} text=${environment} what="environment" />
            <div class="choices" role="group" aria-label="Language">${snippets.map(button)}</div>
            <${Code} key=${language} text=${shown.text} what="program" />
          </div>`
    }
  </${Dialog}>`
}

function Code({ text, what }: { text: string; what: string }) {
  return html`<div class="code">
    <pre tabindex="0" aria-label=${what}>${text}</pre>
    <${CopyButton} text=${text} what=${what} />
  </div>`
}
