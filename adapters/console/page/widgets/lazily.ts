import type { ComponentType } from 'preact'
import { html } from '../markup.ts'
import { FieldProblem } from './field.ts'
import { useLoad } from './use-load.ts'

/**
 * Returns a component whose module the browser loads when the component is first shown.
 * @param isDialog true for a dialog, which shows nothing while it loads
 */
export function lazily<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  isDialog = false,
): ComponentType<Props> {
  return function Lazy(props: Props) {
    const { value, error } = useLoad(load, [])
    if (value !== undefined) return html`<${value} ...${props} />`
    if (isDialog && error === null) return null
    return error === null ? html`<p class="empty" role="status">Loading…</p>` : html`<${FieldProblem} text=${error} />`
  }
}
