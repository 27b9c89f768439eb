import { useState } from 'preact/hooks'
import type { OwnedDelivery } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useAccountNames } from '../owner/account-names.ts'
import { useWatch } from '../owner/use-watch.ts'
import { useSession } from '../session.ts'
import { useAfterPages } from '../widgets/after-pages.ts'
import { Card } from '../widgets/card.ts'
import { Choice, FieldProblem } from '../widgets/field.ts'
import { notify } from '../widgets/notices.ts'
import { useAction } from '../widgets/use-load.ts'
import { useNow } from '../widgets/use-now.ts'
import { DeliveryItem } from './deliveries.ts'

const ROWS = 20
const SHOWN = [
  ['all', 'All deliveries'],
  ['failed', 'Failed deliveries'],
] as const

/** Shows the webhook deliveries of all accounts, and sends failed ones again. */
export function DeliveriesView() {
  const { client } = useSession()
  const [shown, setShown] = useState<string>('all')
  const pages = useAfterPages('Newer', 'Older')
  const failed = shown === 'failed'
  const { value, error, reload } = useWatch(
    signal => client.owner.deliveries({ failed, after: pages.after, limit: ROWS, signal }),
    [client, failed, pages.after],
  )
  const nameOf = useAccountNames()
  const now = useNow()
  const { run, isBusy, error: resendError } = useAction()
  const resend = (row: OwnedDelivery) => (): void =>
    void run(async () => {
      await client.owner.resend(row.id)
      notify({ text: `Sending again to ${row.host}` })
      reload()
    })
  const choose = (next: string): void => {
    pages.reset()
    setShown(next)
  }
  return html`<${Card} title="Webhook deliveries">
    <${Choice} label="Show" value=${shown} onInput=${choose} options=${SHOWN} />
    <${FieldProblem} text=${error ?? resendError} />
    ${value?.rows.length === 0 && html`<p class="empty">${failed ? 'No failed deliveries.' : 'No deliveries yet.'}</p>`}
    <ul class="uploads">${value?.rows.map(
      row => html`<${DeliveryItem} key=${row.id} row=${row} now=${now} of=${`${nameOf(row.account)} to ${row.host}`}>
        ${row.state === 'failed' && html`<button class="small" disabled=${isBusy} aria-label=${`Send again to ${row.host}, ${row.id}`} onClick=${resend(row)}>Send again</button>`}
      </${DeliveryItem}>`,
    )}</ul>
    <div class="buttons">${pages.buttons(value?.next)}</div>
    <p class="hint">The last 100 ended deliveries of each webhook are kept.</p>
  </${Card}>`
}
