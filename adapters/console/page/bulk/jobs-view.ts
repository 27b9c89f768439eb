import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Job } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { FieldProblem } from '../widgets/field.ts'
import { formatDuration, plural, shownCount } from '../widgets/shown-values.ts'
import { useNow } from '../widgets/use-now.ts'
import { type FollowedJob, isRunning } from './job-list.ts'

/** Why a job left a record unchanged, by the code of the failure. */
const REASONS: Readonly<Record<string, string>> = {
  NOT_FOUND: 'no longer exists',
  EXPIRED: 'has expired',
  QUOTA_EXCEEDED: 'exceeds the quota',
  VALIDATION: 'the name would be empty or too long',
  CLUSTER_NOT_ALLOWED: 'is on another system',
}

/** Shows the progress of jobs, and their undo. */
export function JobsView() {
  const { jobs } = useSession()
  const { followed, started } = useJobs()
  const title = useRef<HTMLHeadingElement>(null)
  const known = useRef(started)
  // The focused button disappears together with its dialog, after the job has started. A new view has its own focus.
  useEffect(() => {
    if (started !== known.current) title.current?.focus()
    known.current = started
  }, [started])
  if (followed.length === 0) return null
  return html`<section class="card" aria-labelledby="jobs-title">
    <h2 id="jobs-title" ref=${title} tabindex="-1">Changes</h2>
    <ul class="uploads">${followed.map(
      one => html`<${Row} key=${one.job.id} followed=${one} onUndo=${() => jobs.undo(one.job.id)}
      onDismiss=${() => jobs.dismiss(one.job.id)} />`,
    )}</ul>
  </section>`
}

/** Returns the state of the jobs, and draws the component again when it changes. */
export function useJobs(): { followed: readonly FollowedJob[]; started: string | null; changes: number } {
  const { jobs } = useSession()
  const [, draw] = useState({})
  useLayoutEffect(() => jobs.subscribe(() => draw({})), [jobs])
  const { followed, started, changes } = jobs
  return { followed, started, changes }
}

interface RowProps {
  followed: FollowedJob
  onUndo: () => Promise<void>
  onDismiss: () => void
}

function Row({ followed: { job, error }, onUndo, onDismiss }: RowProps) {
  const now = useNow(1_000)
  const [isAsked, setAsked] = useState(false)
  const { action, state, undoUntil } = job
  const left = undoUntil === null ? 0 : Date.parse(undoUntil) - now
  const ended = job.undoEnded == null ? [] : [ENDED[job.undoEnded]]
  const undo = async (): Promise<void> => {
    setAsked(true)
    await onUndo()
    setAsked(false)
  }
  const words = wordsOn(job)
  const { far, whole } = progressOf(job)
  return html`<li>
    <div class="what"><strong role="status">${words}</strong>
      <span class="under">${[...failuresOf(job), ...(left > 0 ? [`can be undone for ${formatDuration(left / 1_000)}`] : ended)].join(' · ')}</span>
    </div>
    <div class="buttons">
      ${((state === 'running' && action === 'delete') || left > 0) && html`<button class="small" disabled=${isAsked} onClick=${undo}>Undo</button>`}
      ${!isRunning(job) && html`<button class="plain small" aria-label=${`Dismiss: ${words}`} onClick=${onDismiss}>✕</button>`}
    </div>
    ${isRunning(job) && html`<progress aria-label=${words} max=${Math.max(whole, 1)} value=${far}></progress>`}
    <${FieldProblem} text=${error} />
  </li>`
}

const ENDED: Readonly<Record<NonNullable<Job['undoEnded']>, string>> = {
  quota: 'can no longer be undone: newer deletions keep as much as the quota',
  disk: 'can no longer be undone: the disk was full',
  owner: 'can no longer be undone: the owner ended it',
  account: 'can no longer be undone: the account is deleted',
}

const VERBS: Readonly<Record<Job['action'], readonly [doing: string, isDone: string]>> = {
  delete: ['Deleting', 'deleted'],
  rename: ['Renaming', 'renamed'],
  timelock: ['Setting the end of', 'with a new end'],
  cluster: ['Moving', 'moved'],
  visibility: ['Changing who can read', 'changed'],
}

export function wordsOn({ action, state, total, done, restored }: Job): string {
  const [doing, isDone] = VERBS[action]
  if (state === 'running') return `${doing} ${plural(total, 'pin')}: ${shownCount(done)} done`
  if (state === 'done') return `${plural(done, 'pin')} ${isDone}`
  if (state === 'undoing') return `Restoring ${plural(done, 'pin')}: ${shownCount(restored)} done`
  return `${plural(restored, 'pin')} restored`
}

/** Returns how much of its present work a job has done. */
export function progressOf({ state, total, done, failed, restored }: Job): { far: number; whole: number } {
  return state === 'undoing' ? { far: restored, whole: done } : { far: done + failed, whole: total }
}

/** Returns a text for each reason of a failure. A job stores the first failures only, and counts all. */
export function failuresOf({ failed, failures }: Job): string[] {
  if (failed === 0) return []
  const codes = new Set(failures.map(({ code }) => code))
  const reasons = [...codes].map(code => REASONS[code] ?? code)
  return [`${plural(failed, 'pin')} left as ${failed === 1 ? 'it was' : 'they were'}: ${reasons.join(', ')}`]
}
