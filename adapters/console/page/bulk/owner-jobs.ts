import type { OwnedJob } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useAccountNames } from '../owner/account-names.ts'
import { useWatch } from '../owner/use-watch.ts'
import { useSession } from '../session.ts'
import { useAfterPages } from '../widgets/after-pages.ts'
import { Card } from '../widgets/card.ts'
import { formatAge } from '../widgets/shown-values.ts'
import { useNow } from '../widgets/use-now.ts'
import { failuresOf, progressOf, wordsOn } from './jobs-view.ts'

const ROWS = 20
const EVERY_MS = 3_000

/** Shows the jobs of all accounts. */
export function OwnerJobs() {
  const { client } = useSession()
  const pages = useAfterPages('Newer', 'Older')
  const { value, error } = useWatch(
    signal => client.owner.jobs({ after: pages.after, limit: ROWS, signal }),
    [client, pages.after],
    EVERY_MS,
  )
  const nameOf = useAccountNames()
  const now = useNow()
  return html`<${Card} title="Jobs" error=${error}>
    ${value?.rows.length === 0 && html`<p class="empty">No account changes many pins now, or did within the last hour.</p>`}
    <ul class="uploads">${value?.rows.map(job => html`<${Row} key=${job.id} job=${job} name=${nameOf(job.account)} now=${now} />`)}</ul>
    <div class="buttons">${pages.buttons(value?.next)}</div>
  </${Card}>`
}

function Row({ job, name, now }: { job: OwnedJob; name: string; now: number }) {
  const words = wordsOn(job)
  const { far, whole } = progressOf(job)
  const isRunning = job.endedAt === null
  const details = [name, `started ${formatAge(job.createdAt, now)}`, ...failuresOf(job)]
  return html`<li>
    <div class="what">${words}<span class="under">${details.join(' · ')}</span></div>
    <span class=${isRunning ? 'badge wait' : 'badge good'}>${job.state}</span>
    ${isRunning && html`<progress aria-label=${`${words}, ${name}`} max=${Math.max(whole, 1)} value=${far}></progress>`}
  </li>`
}
