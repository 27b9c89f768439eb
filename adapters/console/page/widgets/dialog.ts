import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { html, type WithChildren } from '../markup.ts'

export interface DialogProps extends WithChildren {
  title: string
  /** Called when the user presses Escape or the close button. */
  onClose: () => void
  /** True for a dialog as wide as the page. */
  isWide?: boolean
}

/** Shows a modal dialog. On closing, the focus returns to the element that had it before. */
export function Dialog({ title, onClose, isWide = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const { current } = dialog
    current?.showModal()
    // The browser would focus the close button.
    const find = (selector: string) => current?.querySelector<HTMLElement>(selector)
    const first = find('form input:not([hidden]), .secret') ?? find('form select')
    first?.focus()
    if (first instanceof HTMLInputElement) first.select()
    return () => current?.close()
  }, [])
  const cancel = (event: Event): void => {
    event.preventDefault()
    onClose()
  }
  return html`<dialog ref=${dialog} class=${isWide ? 'broad' : undefined} aria-labelledby=${id} onCancel=${cancel}>
    <header class="row spread">
      <h2 id=${id}>${title}</h2>
      <button type="button" class="plain" aria-label="Close" onClick=${onClose}>✕</button>
    </header>
    ${children}
  </dialog>`
}
