import { useId } from 'preact/hooks'
import { html, type WithChildren } from '../markup.ts'
import { FieldProblem } from './field.ts'
import { shownCount } from './shown-values.ts'

export interface CardProps extends WithChildren {
  title: unknown
  error?: string | null
  /** Number beside the title, which is left out until it is known. */
  count?: number | undefined
  /** Button beside the title. */
  act?: unknown
}

/** A part of a view, with its title and the problem of its data. */
export function Card({ title, error = null, count, act, children }: CardProps) {
  const id = useId()
  return html`<section class="card" aria-labelledby=${id}>
    <div class="row spread">
      <h2 id=${id}>${title}${count !== undefined && html` <span class="count">${shownCount(count)}</span>`}</h2>${act}
    </div>
    <${FieldProblem} text=${error} />
    ${children}
  </section>`
}
