import type { Delivery, Webhook } from '../../../client/index.ts'
import { html, type WithChildren } from '../markup.ts'
import { useSession } from '../session.ts'
import { useAfterPages } from '../widgets/after-pages.ts'
import { FieldProblem } from '../widgets/field.ts'
import { formatAge, formatInstant, plural } from '../widgets/shown-values.ts'
import { useLoad } from '../widgets/use-load.ts'
import { useNow } from '../widgets/use-now.ts'

const ROWS = 20
const EVENTS: Readonly<Record<Delivery['event'], string>> = {
  'pin:created': 'Pin created',
  'pin:status': 'Status changed',
  'pin:removed': 'Pin removed',
}
const LOOKS: Readonly<Record<Delivery['state'], string>> = { waiting: 'wait', delivered: 'good', failed: 'bad' }

export function Deliveries({ of: { id, url } }: { of: Webhook }) {
  const { client } = useSession()
  const { after, buttons } = useAfterPages('Newer', 'Older')
  const { value, error, reload } = useLoad(
    signal => client.webhooks.deliveries(id, { after, limit: ROWS, signal }),
    [client, id, after],
  )
  const now = useNow()
  return html`<div>
    <p class="quiet">To ${url}, the newest first.</p>
    <${FieldProblem} text=${error} />
    ${value?.rows.length === 0 && html`<p class="empty">No deliveries yet.</p>`}
    <ul class="uploads">${value?.rows.map(row => html`<${DeliveryItem} key=${row.id} row=${row} now=${now} />`)}</ul>
    <div class="buttons">
      <button class="small" onClick=${reload}>Look again</button>
      ${buttons(value?.next)}
    </div>
  </div>`
}

/** Shows a delivery. Its children are actions. */
export function DeliveryItem({ row, now, of, children }: WithChildren & { row: Delivery; now: number; of?: string }) {
  const { event, state, at, attempts, nextAttemptAt, lastStatus, lastError } = row
  const details = [
    of,
    at === null ? null : formatInstant(at),
    plural(attempts, 'attempt'),
    lastStatus === null ? null : `answered ${lastStatus}`,
    nextAttemptAt === null ? null : `next ${formatAge(nextAttemptAt, now)}`,
  ]
  return html`<li>
    <div class="what">${EVENTS[event] ?? event}<span class="under">${details.filter(Boolean).join(' · ')}</span></div>
    <span class=${`badge ${LOOKS[state]}`}>${state}</span>
    ${children}
    ${lastError !== null && html`<p class="problem">${lastError}</p>`}
  </li>`
}
