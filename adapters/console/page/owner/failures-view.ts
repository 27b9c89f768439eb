import type { Failure } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Card } from '../widgets/card.ts'
import { Age } from '../widgets/table.ts'
import { useWatch } from './use-watch.ts'

export function FailuresView() {
  const { client } = useSession()
  const { value, error } = useWatch(signal => client.owner.failures(signal), [client])
  return html`<${Card} title="Recent failures" error=${error}>
    ${value?.length === 0 && html`<p class="empty">None since the start of the node.</p>`}
    <ol class="failures">${value?.map((failure, index) => html`<${Row} key=${value.length - index} failure=${failure} />`)}</ol>
    <p class="hint">The last 200 warnings and errors since the start. See the log for details.</p>
  </${Card}>`
}

function Row({ failure: { at, level, message, about } }: { failure: Failure }) {
  const details = Object.entries(about)
  return html`<li>
    <p>
      <span class=${level === 'error' ? 'badge bad' : 'badge wait'}>${level === 'error' ? 'Error' : 'Warning'}</span>
      ${' '}<strong>${message}</strong>
      ${' '}<span class="hint"><${Age} at=${at} /></span>
    </p>
    ${
      details.length > 0 &&
      html`<p class="row">${details.map(([name, text]) => html`<span key=${name}><span class="hint">${name}</span> <code>${text}</code></span> `)}</p>`
    }
  </li>`
}
