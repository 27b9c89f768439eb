import type { OwnedJob } from '../../../client/index.ts'
import { failuresOf, progressOf, wordsOn } from '../content/jobs-view.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { useAfterPages } from '../widgets/after-pages.ts'
import { FieldProblem } from '../widgets/field.ts'
import { formatAge, plural, shownBytes } from '../widgets/shown-values.ts'
import { useNow } from '../widgets/use-now.ts'
import { useAccountNames } from './account-names.ts'
import { useWatch } from './use-watch.ts'

const ROWS = 20
const DAY_MS = 86_400_000
/** Age of the newest backup from which the page warns. */
const OLD_DAYS = 2
const EVERY_MS = 3_000

/** Shows the work of the node: backups, and the jobs of all accounts. */
export function WorkView() {
  return html`<div class="stack"><${Backup} /><${Jobs} /></div>`
}

function Backup() {
  const { client } = useSession()
  const now = useNow()
  const { value, error } = useWatch(signal => client.owner.backups(signal), [client], EVERY_MS)
  const running = value?.running ?? null
  return html`<section class="card" aria-labelledby="backup-title">
    <h2 id="backup-title">Backup</h2>
    <${FieldProblem} text=${error} />
    ${running !== null && html`<p role="status"><span class="badge wait">Running</span> ${plural(running.blocks, 'block')}, ${shownBytes(running.bytes)} so far</p>`}
    ${value !== undefined && html`<p>${ageOf(value, now)}</p>`}
    <p class="hint">The node knows the backups below <code>backupRoots</code>. Make one with <code>holdfast backup</code>.</p>
  </section>`
}

function ageOf({ hasRoots, newestAt }: { hasRoots: boolean; newestAt: string | null }, now: number) {
  const bad = (words: string) => html`<span class="badge bad">${words}</span>`
  if (!hasRoots) return html`${bad('Unknown')} The configuration names no directory of backups.`
  if (newestAt === null) return html`${bad('None')} There is no backup yet.`
  const age = `The newest backup was made ${formatAge(newestAt, now)}.`
  return now - Date.parse(newestAt) > OLD_DAYS * DAY_MS ? html`${bad('Old')} ${age}` : age
}

function Jobs() {
  const { client } = useSession()
  const pages = useAfterPages('Newer', 'Older')
  const { value, error } = useWatch(
    signal => client.owner.jobs({ after: pages.after, limit: ROWS, signal }),
    [client, pages.after],
    EVERY_MS,
  )
  const nameOf = useAccountNames()
  const now = useNow()
  return html`<section class="card" aria-labelledby="jobs-title">
    <h2 id="jobs-title">Jobs</h2>
    <${FieldProblem} text=${error} />
    ${value?.rows.length === 0 && html`<p class="empty">No account changes many pins now, or did within the last hour.</p>`}
    <ul class="uploads">${value?.rows.map(job => html`<${Row} key=${job.id} job=${job} name=${nameOf(job.account)} now=${now} />`)}</ul>
    <div class="buttons">${pages.buttons(value?.next)}</div>
  </section>`
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
