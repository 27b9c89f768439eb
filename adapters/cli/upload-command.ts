import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import type { Cluster, Directory, HoldfastClient, Upload } from '../client/index.ts'
import type { GivenTo } from './all-commands.ts'
import { apiCommand } from './api-command.ts'
import { missingFlag, usageError } from './arguments.ts'
import { timelockOf } from './content-words.ts'
import { describeError } from './failure.ts'
import { fileSource, type LeftOut, type LocalContent, readLocalContent } from './local-files.ts'
import { metaFlag } from './meta-flag.ts'
import { print, printJson, terminalColumns } from './output.ts'
import { countOf, printable } from './printed-text.ts'
import { flaggedVisibility } from './private-content.ts'
import { ProgressBar } from './progress-bar.ts'

/** Path that stands for standard input. A file of this name is `./-`. */
const STANDARD_INPUT = '-'
/** Maximum number of skipped files to list. */
const MOST_NAMES = 10

/** Uploads every path separately, and standard input for the path `-`. If an upload fails, the others continue. */
export const upload = apiCommand<GivenTo<'upload'>>(async ({ client, flags, words: paths, json }) => {
  const meta = metaFlag(flags.meta)
  if (paths.length > 1 && flags.name !== undefined) throw usageError('--name requires a single upload')
  const linkOf = links(client)
  const reading = {
    followLinks: flags['follow-symlinks'],
    preserveMode: flags['preserve-mode'],
    preserveMtime: flags['preserve-mtime'],
  }
  let failed = 0
  let incomplete = 0
  for (const path of paths) {
    try {
      const content = path === STANDARD_INPUT ? null : await readLocalContent(path, reading)
      const leftOut = content?.leftOut ?? []
      if (!json) reportSkipped(path, leftOut)
      const answer = await uploadContent(client, content, flags, meta)
      const isTerminal = terminalColumns() !== null
      const url = json || isTerminal ? await linkOf(answer) : null
      const way = answer.visibility === 'private' ? `private: holdfast get ${answer.cid}` : url
      if (json) printJson({ path, ...answer, url, ...(content?.isDirectory && { leftOut }) })
      else print(`${answer.cid}  ${printable(path)}${isTerminal && way !== null ? `\n  ${way}` : ''}`)
      if (leftOut.some(({ what }) => what !== 'an empty directory')) incomplete += 1
    } catch (error) {
      if (!isHoldfastError(error) || paths.length === 1) throw error
      failed += 1
      console.error(`holdfast: ${printable(path)}: ${describeError(error)}`)
      if (json) printJson({ path, error: describeError(error) })
    }
  }
  if (failed > 0) throw new HoldfastError('UNAVAILABLE', `${failed} of ${paths.length} uploads failed`)
  if (incomplete > 0) throw incompleteUpload(incomplete)
})

async function uploadContent(
  client: HoldfastClient,
  local: LocalContent | null,
  flags: GivenTo<'upload'>['flags'],
  meta: Record<string, string> | undefined,
): Promise<Upload | Directory> {
  const called = flags.name ?? local?.name
  if (called === undefined) throw missingFlag('name')
  const total = local === null ? null : local.files.reduce((sum, { size }) => sum + size, 0)
  const bar = new ProgressBar(printable(called), total)
  const timelock = timelockOf(flags.timelock)
  const visibility = await flaggedVisibility(client, flags)
  const options = {
    name: called,
    cluster: flags.cluster,
    timelock,
    visibility,
    meta,
    onProgress: (bytes: number) => bar.update(bytes),
  }
  const contents = local?.files.map(file => ({ path: file.path, content: fileSource(file), ...file.attributes })) ?? []
  const [first = { content: process.stdin }] = contents
  return (
    local?.isDirectory
      ? client.files.uploadDirectory([...local.folders, ...contents], options)
      : client.files.upload(first.content, { ...options, ...local?.files[0]?.attributes })
  ).finally(() => bar.end())
}

/**
 * Returns a function that returns the link to an upload, or null if it is private. If the server sends no link, the
 * function asks for the gateway of the cluster, and returns null if the key may not list clusters.
 */
function links(client: HoldfastClient): (upload: Upload) => Promise<string | null> {
  let clusters: Promise<Cluster[]> | undefined
  return async ({ url, visibility, cid, clusterId }) => {
    if (visibility === 'private') return null
    if (url !== undefined) return url
    clusters ??= client.account.clusters().catch(() => [])
    const [gateway] = (await clusters).find(({ id }) => id === clusterId)?.gateways ?? []
    return gateway === undefined ? null : gateway.publicUrl + cid
  }
}

function incompleteUpload(uploads: number): HoldfastError {
  const message = `${countOf(uploads, 'upload')} went without the entries listed as skipped`
  return new HoldfastError('INVALID_PATH', message, { details: { result: 'incomplete' } })
}

function reportSkipped(path: string, leftOut: readonly LeftOut[]): void {
  if (leftOut.length === 0) return
  console.error(`holdfast: skipped in ${printable(path)} (cannot be uploaded):`)
  for (const { path: inside, what } of leftOut.slice(0, MOST_NAMES)) console.error(`  ${printable(inside)}: ${what}`)
  if (leftOut.length > MOST_NAMES) console.error(`  and ${leftOut.length - MOST_NAMES} more`)
}
