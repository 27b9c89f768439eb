import { OwnerJobs } from '../bulk/owner-jobs.ts' // feature: bulk
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Card } from '../widgets/card.ts'
import { formatAge, plural, shownBytes } from '../widgets/shown-values.ts'
import { useNow } from '../widgets/use-now.ts'
import { useWatch } from './use-watch.ts'

const DAY_MS = 86_400_000
/** Age of the newest backup from which the page warns. */
const OLD_DAYS = 2
const EVERY_MS = 3_000

/** Shows the work of the node: backups, and the jobs of all accounts. */
export function WorkView() {
  return html`<div class="stack">
    <${Backup} />
    ${/* feature: bulk */ html`<${OwnerJobs} />`}
  </div>`
}

function Backup() {
  const { client } = useSession()
  const now = useNow()
  const { value, error } = useWatch(signal => client.owner.backups(signal), [client], EVERY_MS)
  const running = value?.running ?? null
  return html`<${Card} title="Backup" error=${error}>
    ${running !== null && html`<p role="status"><span class="badge wait">Running</span> ${plural(running.blocks, 'block')}, ${shownBytes(running.bytes)} so far</p>`}
    ${value !== undefined && html`<p>${ageOf(value, now)}</p>`}
    <p class="hint">The node knows the backups below <code>backupRoots</code>. Make one with <code>holdfast backup</code>.</p>
  </${Card}>`
}

function ageOf({ hasRoots, newestAt }: { hasRoots: boolean; newestAt: string | null }, now: number) {
  const bad = (words: string) => html`<span class="badge bad">${words}</span>`
  if (!hasRoots) return html`${bad('Unknown')} The configuration names no directory of backups.`
  if (newestAt === null) return html`${bad('None')} There is no backup yet.`
  const age = `The newest backup was made ${formatAge(newestAt, now)}.`
  return now - Date.parse(newestAt) > OLD_DAYS * DAY_MS ? html`${bad('Old')} ${age}` : age
}
