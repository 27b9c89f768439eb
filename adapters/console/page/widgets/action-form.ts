import { html, type WithChildren } from '../markup.ts'
import { FieldProblem, submitting } from './field.ts'
import { notify } from './notices.ts'
import { useAction } from './use-load.ts'

export interface FormProps extends WithChildren {
  act: () => Promise<unknown>
  /** Label of the button that runs the action, and its label during the action. */
  label: unknown
  busy?: string
  /** Class of the form. */
  kind?: string
  /** Class of the button. */
  tone?: string
  /** False while the user has not given all that the action needs. */
  isReady?: boolean
  /** Notice after the action succeeded. */
  said?: string
  /** Called after the action succeeded. */
  onDone?: (() => void) | undefined
  /** Buttons before that of the action. */
  before?: unknown
}

/** Form for an action, which runs once at a time. A failed action leaves the form as it is, with the reason. */
export function Form({
  act,
  label,
  busy,
  tone = 'primary',
  isReady = true,
  said,
  onDone,
  before,
  kind,
  children,
}: FormProps) {
  const { run, isBusy, error } = useAction()
  const submit = submitting(async () => {
    if (!(await run(act))) return
    if (said !== undefined) notify({ text: said })
    onDone?.()
  })
  return html`<form class=${kind} onSubmit=${submit}>
    ${children}
    <${FieldProblem} text=${error} />
    <div class="row">${before}<button class=${tone} disabled=${isBusy || !isReady}>${isBusy ? (busy ?? label) : label}</button></div>
  </form>`
}
