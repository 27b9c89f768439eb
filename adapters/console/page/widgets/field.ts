import type { ComponentChild } from 'preact'
import { useId } from 'preact/hooks'
import { html } from '../markup.ts'

export interface FieldProps {
  label: string
  value: string
  onInput: (value: string) => void
  hint?: ComponentChild
  type?: string
  /** Further attributes of the `<input>` element. */
  input?: Readonly<Record<string, unknown>>
}

export function InputField({ label, value, onInput, hint, type = 'text', input = {} }: FieldProps) {
  const id = useId()
  return html`<div class="field">
    <label for=${id}>${label}</label>
    <input
      id=${id}
      type=${type}
      value=${value}
      aria-describedby=${hint === undefined ? undefined : `${id}-hint`}
      onInput=${(event: InputEvent & { currentTarget: HTMLInputElement }) => onInput(event.currentTarget.value)}
      ...${input}
    />
    ${hint !== undefined && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
  </div>`
}

export interface ChoiceProps {
  label: string
  value: string
  onInput: (value: string) => void
  options: ReadonlyArray<readonly [value: string, words: string]>
}

export function Choice({ label, value, onInput, options }: ChoiceProps) {
  const id = useId()
  return html`<div class="field">
    <label for=${id}>${label}</label>
    <select
      id=${id}
      value=${value}
      onChange=${(event: Event & { currentTarget: HTMLSelectElement }) => onInput(event.currentTarget.value)}
    >
      ${options.map(([one, words]) => html`<option key=${one} value=${one} selected=${one === value}>${words}</option>`)}
    </select>
  </div>`
}

/** Shows an error message, which screen readers read out at once. */
export function FieldProblem({ text }: { text: string | null }) {
  return text === null ? null : html`<p class="problem" role="alert">${text}</p>`
}

/** Returns a handler for `onSubmit` that does not leave the page. */
export function submitting(act: () => void): (event: Event) => void {
  return event => {
    event.preventDefault()
    act()
  }
}
