import { html } from '../markup.ts'
import { Form, type FormProps } from './action-form.ts'
import { Dialog } from './dialog.ts'

interface ConfirmDialogProps extends Pick<FormProps, 'act' | 'label' | 'isReady' | 'said' | 'onDone' | 'children'> {
  title: string
  onClose: () => void
}

/** Dialog that explains an action and asks for confirmation. A failed action leaves it open with the reason. */
export function ConfirmDialog({ title, onClose, children, ...form }: ConfirmDialogProps) {
  const keep = html`<button type="button" onClick=${onClose}>Keep it</button>`
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <${Form} ...${form} tone="danger" before=${keep}>${children}</${Form}>
  </${Dialog}>`
}
