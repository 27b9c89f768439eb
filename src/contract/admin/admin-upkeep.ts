import { type TSchema, Type } from 'typebox'
import type { BackupOutcome } from '../../backup/back-up.ts'
import { orNull } from '../../config/schema-parts.ts'
import type { Verified } from '../../content/verifier.ts'
import type { ApiResponse } from '../../http/api-messages.ts'
import { jsonResponse } from '../../http/json-body.ts'
import type { AuthenticatedContext } from '../../http/route.ts'
import type { Reconciled } from '../../upkeep/findings.ts'
import { bytes, count, describedCount, text } from '../answer-fields.ts'
import { required } from '../body-reader.ts'
import { type ContractRoute, json, optionalJson, route } from '../contract-route.ts'
import { progressLines } from '../uploads/progress-lines.ts'

const YEAR_SECONDS = 31_536_000

/** Returns a schema whose TypeScript type the engine defines. The OpenAPI document shows only an object. */
function asIs<T>(): TSchema & { '~unsafe': T } {
  return Type.Unsafe<T>(Type.Object({}, { additionalProperties: true }))
}

export const AmountView = Type.Object({ count, bytes }, { title: 'Amount' })

/** A field that nodes of earlier versions omit, or that is null for the reason in its description. */
const newer = <Schema extends TSchema>(schema: Schema) => Type.Optional(orNull(schema))

export const Stats = Type.Object(
  {
    accounts: count,
    pins: Type.Object({ queued: count, pinning: count, pinned: count, failed: count }),
    accountedBytes: describedCount('bytes that count against quotas'),
    keptBytes: Type.Optional(describedCount('bytes that only deleted records name; absent before 0.4.0')),
    roots: Type.Object({ staging: AmountView, complete: AmountView, dropped: AmountView }),
    blocks: Type.Object({ writing: AmountView, durable: AmountView, deleting: AmountView }),
    garbageBlocks: describedCount('blocks that the next garbage collection deletes'),
    oldestFetchAt: orNull(count),
    databaseBytes: count,
    disks: Type.Array(Type.Object({ backend: count, freeBytes: count, reserveBytes: count, isFull: Type.Boolean() }), {
      description: 'first the data directory, then the directories of the clusters',
    }),
    verification: Type.Object(
      {
        blocks: count,
        damaged: count,
        isRunning: Type.Boolean(),
        endedAt: orNull(count),
        behindMs: Type.Optional(count),
      },
      { description: 'the running verification, or else the last one' },
    ),
    peers: count,
    publicNetwork: newer(
      Type.Enum(['connected', 'no-peers'], { description: 'null if the node is not part of the public network' }),
    ),
    backups: newer(
      Type.Object(
        { newestAt: orNull(count) },
        { description: 'the newest backup; null without directories for backups' },
      ),
    ),
    announcements: newer(
      Type.Object(
        { waiting: count, due: count, oldestAt: orNull(count) },
        { description: 'new roots to announce, provider records due for renewal, and the oldest record' },
      ),
    ),
    clusters: Type.Optional(
      Type.Array(
        Type.Object({
          clusters: Type.Array(text),
          peers: Type.Array(Type.Object({ peer: text, freeBytes: orNull(count), error: orNull(text) })),
          error: orNull(text),
          lookedAt: orNull(count),
          pins: count,
          unpins: count,
          since: orNull(describedCount('time of the oldest request for a pin that still waits')),
        }),
        { description: 'remote cluster systems' },
      ),
    ),
    copies: newer(
      Type.Object(
        {
          states: Type.Object({ have: count, wanted: count, damaged: count, surplus: count, going: count }),
          waitsSince: orNull(count),
          reason: orNull(text),
        },
        { description: "the node's copies of content of other nodes; null if no cluster wants several" },
      ),
    ),
    clockSkewMs: orNull(
      Type.Number({ description: "time by which the node's clock is ahead of its PostgreSQL server's" }),
    ),
  },
  { title: 'Stats' },
)
export const CollectedView = Type.Object({
  roots: count,
  blocks: count,
  bytes: count,
  keptBytes: Type.Optional(describedCount('bytes that undo periods keep; absent before 0.4.0')),
})
export const VerifiedView = Type.Object(
  {
    blocks: count,
    bytes: count,
    damaged: Type.Array(Type.Object({ cid: text, reason: text, roots: Type.Array(text) }), {
      description: 'the first 1,000 damaged blocks, each with at most 100 roots that need the block',
    }),
    damagedBlocks: count,
  },
  { title: 'Verified' },
)

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
  answers: { 200: Stats },
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
  answers: { 200: CollectedView },
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
  answers: { 200: { media: 'application/json', schema: VerifiedView } },
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
