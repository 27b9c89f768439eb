import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { html, type WithChildren } from '../markup.ts'

export interface DialogProps extends WithChildren {
  title: string
  /** Asked for by Escape and by the button. */
  onClose: () => void
}

/** A window over the page that keeps the keyboard inside, and gives it back where it was. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const { current } = dialog
    current?.showModal()
    // The first that is focused by itself is the button to close it.
    current?.querySelector<HTMLElement>('form input:not([hidden]), .secret')?.focus()
    return () => current?.close()
  }, [])
  const cancel = (event: Event): void => {
    event.preventDefault()
    onClose()
  }
  return html`<dialog ref=${dialog} aria-labelledby=${id} onCancel=${cancel}>
    <header>
      <h2 id=${id}>${title}</h2>
      <button type="button" class="plain" aria-label="Close" onClick=${onClose}>✕</button>
    </header>
    ${children}
  </dialog>`
}
