import { type TSchema, Type } from 'typebox'
import type { BackupOutcome } from '../../backup/back-up.ts'
import type { Verified } from '../../content/verifier.ts'
import type { ApiResponse } from '../../http/api-messages.ts'
import { jsonResponse } from '../../http/json-body.ts'
import type { AuthenticatedContext } from '../../http/route.ts'
import type { EngineStats } from '../../pins/lists/statistics.ts'
import type { Reconciled } from '../../upkeep/findings.ts'
import { required } from '../body-reader.ts'
import { type ContractRoute, json, optionalJson, route } from '../contract-route.ts'
import { progressLines } from '../uploads/progress-lines.ts'

const YEAR_SECONDS = 31_536_000

/** Returns a schema whose TypeScript type the engine defines. The OpenAPI document shows only an object. */
function asIs<T>(): TSchema & { '~unsafe': T } {
  return Type.Unsafe<T>(Type.Object({}, { additionalProperties: true }))
}

const owner = { access: 'owner', tag: 'The owner' } as const

const stats = route({
  ...owner,
  method: 'GET',
  path: '/stats',
  summary: 'Show the storage, peers and clusters of the node',
  details:
    '`{accounts, pins, accountedBytes, keptBytes, roots, blocks, garbageBlocks, databaseBytes, disks, verification, backups, peers, ' +
    'publicNetwork, announcements, clockSkewMs, clusters}`. The field `publicNetwork` is `connected` or `no-peers`, and ' +
    'null off the public network. The field `announcements` counts new roots that wait for their first announcement, and ' +
    'provider records due for renewal, up to 10,000. It is null if the node announces nothing. The field `clusters` ' +
    'lists the [clusters on other systems](clusters.md), with their peers of the last minute and pending work. The field `verification` has the current or last round of ' +
    '[verification](configuration.md). The field `backups` is `{newestAt}`, in ms since the epoch, and null without ' +
    '`backupRoots`. The answer counts `pins` by status, and `roots` and `blocks` by state as ' +
    '`{count, bytes}`. Roots and blocks may be half a minute old.',
  answers: { 200: asIs<EngineStats>() },
  handler: async (_, { statistics }) => ({ status: 200, body: await statistics.read() }),
})

const collect = route({
  ...owner,
  method: 'POST',
  path: '/gc',
  audit: 'node.collect',
  summary: 'Delete unused blocks',
  details:
    '`{roots, blocks, bytes}` that were deleted, and `keptBytes`, which undo periods still keep. Optional body: ' +
    '`{"graceSeconds": 0}` instead of the configured grace, and `"endUndo": true` to end all undo periods first.',
  body: optionalJson(
    Type.Object({
      graceSeconds: Type.Optional(Type.Number({ minimum: 0, maximum: YEAR_SECONDS })),
      endUndo: Type.Optional(Type.Boolean()),
    }),
  ),
  answers: {
    200: Type.Object({
      roots: Type.Integer(),
      blocks: Type.Integer(),
      bytes: Type.Integer(),
      keptBytes: Type.Integer(),
    }),
  },
  handler: async ({ body }, { collect }) => {
    const { graceSeconds, endUndo } = await body()
    const graceMs = graceSeconds === undefined ? undefined : graceSeconds * 1_000
    return { status: 200, body: await collect({ graceMs, endUndo }) }
  },
})

const LINES =
  'With `Accept: application/x-ndjson`, a line after each step, and a last line `{"done": true, …}` with the outcome or ' +
  'the body of an error. Stops if the client disconnects.'

const verify = route({
  ...owner,
  method: 'POST',
  path: '/verify',
  audit: 'node.verify',
  summary: 'Read and check every block',
  details:
    '`{blocks, bytes, damaged: [{cid, reason, roots}], damagedBlocks}`: the first 1,000 damaged blocks, each with at ' +
    `most 100 roots, and their total number. ${LINES}`,
  answers: { 200: { media: 'application/json', schema: asIs<Verified>() } },
  handler: (context, { verifier }) => {
    return inLines<Verified>(context, options => verifier.verify(options))
  },
})

const backup = route({
  ...owner,
  method: 'POST',
  path: '/backup',
  audit: 'node.backup',
  summary: 'Write a backup below a backup root',
  details:
    'Body: `{"directory", "force", "bytesPerSecond"}`, the last two optional; see [backups](backup.md). A directory with ' +
    `another node's backup is 409 \`CONFLICT\` without \`force\`. ${LINES}`,
  body: json(
    Type.Object({
      directory: required,
      force: Type.Optional(Type.Boolean()),
      bytesPerSecond: Type.Optional(Type.Integer({ minimum: 1_024 })),
    }),
  ),
  answers: { 200: { media: 'application/json', schema: asIs<BackupOutcome>() } },
  errors: ['CONFLICT'],
  handler: async (context, { backups }) => {
    const { directory, ...given } = await context.body()
    return inLines<BackupOutcome>(context, options => backups.runBelowRoots(directory, { ...given, ...options }))
  },
})

const reconcile = route({
  ...owner,
  method: 'POST',
  path: '/reconcile',
  audit: 'node.reconcile',
  summary: 'Find and repair inconsistencies between records, holds, blocks and files',
  details:
    '`{dryRun, seen, found, findings: [{kind, what, detail}]}`: `seen` and `found` count all, `findings` are the first ' +
    '1,000. Optional body: `{"dryRun", "force"}`. Too many deletions, or a run in progress, is 409 `CONFLICT`. ' +
    LINES,
  body: optionalJson(Type.Object({ dryRun: Type.Optional(Type.Boolean()), force: Type.Optional(Type.Boolean()) })),
  answers: { 200: { media: 'application/json', schema: asIs<Reconciled>() } },
  errors: ['CONFLICT'],
  handler: async (context, { reconciler }) => {
    const given = await context.body()
    return inLines<Reconciled>(context, options => reconciler.run({ ...given, ...options }))
  },
})

export const adminUpkeepRoutes: readonly ContractRoute[] = [stats, collect, verify, reconcile, backup]

interface StepOptions {
  signal: AbortSignal
  onProgress?: (progress: object) => void
}

/** Returns the outcome. If the client accepts `application/x-ndjson`, streams one line per step before the outcome. */
async function inLines<Outcome extends object>(
  { request, requestId, audits }: AuthenticatedContext,
  run: (options: StepOptions) => Promise<Outcome>,
): Promise<ApiResponse> {
  if (!/\bapplication\/x-ndjson\b/i.test(request.header('accept') ?? '')) {
    return jsonResponse(200, await run({ signal: request.signal }))
  }
  const ended = Promise.withResolvers<Outcome>()
  audits({ ended: ended.promise })
  // If nobody audits, nobody else waits for it.
  ended.promise.catch(() => undefined)
  const lines = progressLines<object, Outcome>(requestId, (onProgress, unread) => {
    const outcome = run({ signal: AbortSignal.any([request.signal, unread]), onProgress })
    ended.resolve(outcome)
    return outcome
  })
  return { status: 200, headers: { 'content-type': 'application/x-ndjson' }, body: lines }
}
