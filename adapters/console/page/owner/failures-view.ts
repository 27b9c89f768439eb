import type { Failure } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { FieldProblem } from '../widgets/field.ts'
import { formatAge, formatInstant } from '../widgets/shown-values.ts'
import { useNow } from '../widgets/use-now.ts'
import { useWatch } from './use-watch.ts'

export function FailuresView() {
  const { client } = useSession()
  const now = useNow()
  const { value, error } = useWatch(signal => client.owner.failures(signal), [client])
  return html`<section class="card" aria-labelledby="failures-title">
    <h2 id="failures-title">Recent failures</h2>
    <${FieldProblem} text=${error} />
    ${value?.length === 0 && html`<p class="empty">None since the start of the node.</p>`}
    ${
      value !== undefined &&
      value.length > 0 &&
      html`<ol class="failures">${value.map((failure, index) => html`<${Row} key=${value.length - index} failure=${failure} now=${now} />`)}</ol>`
    }
    <p class="hint">The last 200 warnings and errors since the start. See the log for details.</p>
  </section>`
}

function Row({ failure: { at, level, message, about }, now }: { failure: Failure; now: number }) {
  const details = Object.entries(about)
  return html`<li>
    <p>
      <span class=${level === 'error' ? 'badge bad' : 'badge wait'}>${level === 'error' ? 'Error' : 'Warning'}</span>
      ${' '}<strong>${message}</strong>
      ${' '}<time class="hint" datetime=${at} title=${formatInstant(at)}>${formatAge(at, now)}</time>
    </p>
    ${
      details.length > 0 &&
      html`<p class="about">${details.map(([name, text]) => html`<span key=${name}><span class="hint">${name}</span> <code>${text}</code></span> `)}</p>`
    }
  </li>`
}
