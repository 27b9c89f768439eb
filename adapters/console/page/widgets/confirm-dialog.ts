import { html } from '../markup.ts'
import { Form, type FormProps } from './action-form.ts'
import { Dialog } from './dialog.ts'

interface ConfirmDialogProps extends Pick<FormProps, 'act' | 'label' | 'isReady' | 'said' | 'onDone' | 'children'> {
  title: string
  onClose: () => void
}

/** Dialog that explains an action and asks for confirmation. It closes after the action, and stays with the reason of a failure. */
export function ConfirmDialog({ title, onClose, onDone, children, ...form }: ConfirmDialogProps) {
  const done = (): void => {
    onClose()
    onDone?.()
  }
  const keep = html`<button type="button" onClick=${onClose}>Keep it</button>`
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <${Form} ...${form} tone="danger" before=${keep} onDone=${done}>${children}</${Form}>
  </${Dialog}>`
}
