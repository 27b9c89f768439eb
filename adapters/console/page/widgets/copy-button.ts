import { html } from '../markup.ts'
import { notify } from './notices.ts'

export function CopyButton({ text, label, what }: { text: string; label?: string; what: string }) {
  return html`<button type="button" class="small" aria-label=${`Copy ${what}`} onClick=${() => copyText(text, what)}>
    ${label ?? 'Copy'}
  </button>`
}

/** Copies a text and tells the user. */
export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    notify({ text: `Copied the ${what}` })
  } catch {
    notify({ text: `The browser refuses to copy: select the text instead`, isError: true })
  }
}
