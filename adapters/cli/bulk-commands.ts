import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import type { Edit, HoldfastClient, Job, JobFilter } from '../client/index.ts'
import type { GivenTo } from './all-commands.ts'
import { apiCommand } from './api-command.ts'
import { splitList, usageError } from './arguments.ts'
import { timelockOf } from './content-words.ts'
import { metaFlag } from './meta-flag.ts'
import { print, printJson, printRows } from './output.ts'
import { countOf, formatTable } from './printed-text.ts'
import { visibilityOf } from './private-content.ts'
import { ProgressBar } from './progress-bar.ts'
import { timeNow } from './real-time.ts'

const DONE: Readonly<Record<Job['action'], string>> = {
  delete: 'deleted',
  rename: 'renamed',
  timelock: 'given a new expiry',
  cluster: 'moved',
  visibility: 'made public or private',
}

type Selecting = GivenTo<'job delete'>

/** Runs `job delete`: deletes many pins, and shows how to undo it. */
export const deleteMany = apiCommand<GivenTo<'job delete'>>(async ({ client, json, ...given }) => {
  const { jobs } = client
  const job = await started(client, given, {
    ids: ids => jobs.deleteRecords(ids),
    filter: filter => jobs.deleteMatching(filter),
  })
  await follow(client, job, { json, waits: !given.flags['no-wait'] })
})

/** Runs `job edit`: renames many pins, sets their expiry, or moves them to another cluster. */
export const editMany = apiCommand<GivenTo<'job edit'>>(async ({ client, json, ...given }) => {
  const { jobs } = client
  const edit = editOf(given.flags)
  const job = await started(client, given, {
    ids: ids => jobs.editRecords(ids, edit),
    filter: filter => jobs.editMatching(filter, edit),
  })
  await follow(client, job, { json, waits: !given.flags['no-wait'] })
})

/** Runs `job list`. */
export const listJobs = apiCommand<GivenTo<'job list'>>(async ({ client, json }) => {
  const jobs = await client.jobs.list()
  printRows(jobs, json, () => formatTable([HEADINGS, ...jobs.map(cells)], new Set([3, 4, 5])))
})

/** Runs `job undo`. */
export const undoJob = apiCommand<GivenTo<'job undo'>>(async ({ client, flags, words: [id = ''], json }) => {
  await follow(client, await client.jobs.undo(id), { json, waits: !flags['no-wait'] })
})

/**
 * Starts a job for the given ids, or for the filter. Without `--expected` a filter changes nothing, unless nothing
 * matches.
 * @throws HoldfastError `CONFLICT` that names the number of matching pins
 */
async function started(
  client: HoldfastClient,
  { flags, words }: Selecting,
  start: { ids: (ids: readonly string[]) => Promise<Job>; filter: (filter: JobFilter) => Promise<Job> },
): Promise<Job> {
  const visibility = await visibilityOf(client, flags.only)
  const filter = { ...searchOf(flags), visibility, expiring: flags.expiring || undefined }
  const isFiltered = Object.values(filter).some(value => value !== undefined)
  if (words.length > 0) {
    if (isFiltered || flags.all) throw usageError('give ids or filters, not both')
    return start.ids(words)
  }
  if (isFiltered === flags.all) throw usageError('select pins by ids, by filters or by --all')
  const { expected = 0 } = flags
  try {
    return await start.filter({ ...filter, createdBefore: flags.before ?? new Date(timeNow()), expected })
  } catch (error) {
    if (!isHoldfastError(error, 'CONFLICT') || typeof error.details.selected !== 'number') throw error
    const matching = error.details.selected
    const message = `${countOf(matching, 'pin')} selected, nothing was changed: repeat with --expected ${matching}`
    throw new HoldfastError('CONFLICT', message, { cause: error })
  }
}

function searchOf(flags: Selecting['flags']): Partial<JobFilter> {
  const { cid, name: q, after } = flags
  // The server names an unknown type or status.
  const type = splitList(flags.type) as JobFilter['type']
  const status = splitList(flags.status) as JobFilter['status']
  return { cid, q, after, type, status, meta: metaFlag(flags.meta) }
}

function editOf({ find, replace, prefix, suffix, timelock, cluster, visibility }: GivenTo<'job edit'>['flags']): Edit {
  const edits: Edit[] = []
  if ([find, replace, prefix, suffix].some(text => text !== undefined)) {
    const rename = Object.entries({ find, replace, prefix, suffix }).filter(([, text]) => text !== undefined)
    edits.push({ rename: Object.fromEntries(rename) })
  }
  if (timelock !== undefined) edits.push({ timelock: timelock === 'never' ? null : timelockOf(timelock) })
  if (cluster !== undefined) edits.push({ cluster })
  // The server names an unknown visibility.
  if (visibility !== undefined) edits.push({ visibility: visibility as 'public' | 'private' })
  const [edit, second] = edits
  if (edit !== undefined && second === undefined) return edit
  throw usageError(
    'give one edit: a rename (--find, --replace, --prefix, --suffix), --timelock, --cluster or --visibility',
  )
}

/** Waits for the end of a job, and prints its outcome. */
async function follow(
  client: HoldfastClient,
  job: Job,
  { json, waits }: { json: boolean; waits: boolean },
): Promise<void> {
  const bar = new ProgressBar(job.action, job.total, { format: String })
  const onProgress = ({ state, done, failed, restored }: Job): void => {
    bar.update(state === 'undoing' ? restored : done + failed)
  }
  const ended = waits ? await client.jobs.untilEnded(job, { onProgress }).finally(() => bar.end()) : job
  if (json) printJson(ended)
  else print(outcomeOf(ended))
  const missed = ended.state === 'undone' ? ended.done - ended.restored : ended.failed
  if (missed > 0) throw new HoldfastError('CONFLICT', `${countOf(missed, 'pin')} unchanged`)
}

function outcomeOf({ id, action, state, done, restored, undoUntil, failures }: Job): string {
  // The failures of an undone job are those of its deletion, too.
  const shown = failures.filter(({ code }) => state !== 'undone' || code !== 'NOT_FOUND')
  const failed = shown.map(({ uploadId, code }) => `${uploadId}  ${code}`)
  if (state === 'running' || state === 'undoing') return `${id}  ${state}, see holdfast job list`
  if (state === 'undone') return [`${countOf(restored, 'pin')} restored`, ...failed].join('\n')
  const undo = undoUntil === null || done === 0 ? [] : [`to undo until ${undoUntil}: holdfast job undo ${id}`]
  return [`${countOf(done, 'pin')} ${DONE[action]}`, ...undo, ...failed].join('\n')
}

const HEADINGS = ['ID', 'ACTION', 'STATE', 'TOTAL', 'DONE', 'FAILED', 'STARTED', 'UNDO UNTIL']

function cells({ id, action, state, total, done, failed, createdAt, undoUntil, undoEnded }: Job): string[] {
  const undo = undoUntil ?? (undoEnded == null ? '' : `ended (${undoEnded})`)
  return [id, action, state, String(total), String(done), String(failed), createdAt, undo]
}
