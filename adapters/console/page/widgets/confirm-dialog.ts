import { html, type WithChildren } from '../markup.ts'
import { Dialog } from './dialog.ts'
import { FieldProblem, submitting } from './field.ts'
import { useAction } from './use-load.ts'

export interface ConfirmDialogProps extends WithChildren {
  title: string
  /** Label of the button that starts the action. */
  label: string
  /** False while the user has not given all that the action needs. */
  isReady?: boolean
  act: () => Promise<unknown>
  onClose: () => void
  /** Called after the action succeeded. */
  onDone: () => void
}

/** Dialog that explains an action and asks for confirmation. A failed action leaves it open with the reason. */
export function ConfirmDialog({ title, label, isReady = true, act, onClose, onDone, children }: ConfirmDialogProps) {
  const { run, isBusy, error } = useAction()
  const submit = submitting(async () => {
    if (await run(act)) onDone()
  })
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form onSubmit=${submit}>
      ${children}
      <${FieldProblem} text=${error} />
      <div class="buttons">
        <button type="button" onClick=${onClose}>Keep it</button>
        <button class="danger" disabled=${isBusy || !isReady}>${label}</button>
      </div>
    </form>
  </${Dialog}>`
}
