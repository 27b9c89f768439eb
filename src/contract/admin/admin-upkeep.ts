import { type TSchema, Type } from 'typebox'
import type { BackupOutcome } from '../../backup/back-up.ts'
import type { Verified } from '../../content/verifier.ts'
import type { ApiResponse } from '../../http/api-messages.ts'
import { jsonResponse } from '../../http/json-response.ts'
import type { AuthenticatedContext } from '../../http/route.ts'
import type { EngineStats } from '../../pins/lists/statistics.ts'
import type { Reconciled } from '../../upkeep/findings.ts'
import { required } from '../body-reader.ts'
import { type ContractRoute, json, optionalJson, route } from '../contract-route.ts'
import { progressLines } from '../uploads/progress-lines.ts'

const YEAR_SECONDS = 31_536_000

/** Told as the engine has it. */
function asIs<T>(): TSchema & { '~unsafe': T } {
  return Type.Unsafe<T>(Type.Object({}, { additionalProperties: true }))
}

const owner = { access: 'owner', tag: 'The owner' } as const

const stats = route({
  ...owner,
  method: 'GET',
  path: '/stats',
  summary: 'How much the node holds',
  details:
    '`{accounts, pins, accountedBytes, roots, blocks, garbageBlocks, databaseBytes, disks, verification, peers, ' +
    'publicNetwork, clockSkewMs, clusters}`: `publicNetwork` is `connected` or `no-peers`, null off the public network; ' +
    '`clusters` are the [places that keep clusters elsewhere](clusters.md), with their peers as ' +
    'they were in the last minute, and how much they have still to be told; ' +
    '`verification` is the round of [verification](configuration.md) under way or the last, `pins` by status, `roots` ' +
    'and `blocks` by state as `{count, bytes}`. Roots and blocks may be half a minute old.',
  answers: { 200: asIs<EngineStats>() },
  handler: async (_, { statistics }) => ({ status: 200, body: await statistics.read() }),
})

const collect = route({
  ...owner,
  method: 'POST',
  path: '/gc',
  summary: 'Free what nothing needs',
  details:
    '`{roots, blocks, bytes}` that were freed. Body, optional: `{"graceSeconds": 0}` instead of the configured grace.',
  body: optionalJson(Type.Object({ graceSeconds: Type.Optional(Type.Number({ minimum: 0, maximum: YEAR_SECONDS })) })),
  answers: { 200: Type.Object({ roots: Type.Integer(), blocks: Type.Integer(), bytes: Type.Integer() }) },
  handler: async ({ body }, { collector }) => {
    const { graceSeconds } = await body()
    const graceMs = graceSeconds === undefined ? undefined : graceSeconds * 1_000
    return { status: 200, body: await collector.collect(graceMs) }
  },
})

const LINES =
  'With `Accept: application/x-ndjson` a line after each step, and last `{"done": true, …}` with the outcome, or the ' +
  'body of an error. Ends when the client goes.'

const verify = route({
  ...owner,
  method: 'POST',
  path: '/verify',
  summary: 'Read and check every block',
  details:
    '`{blocks, bytes, damaged: [{cid, reason, roots}], damagedBlocks}`: the first 1,000 damaged blocks, each with at ' +
    `most 100 roots, and how many there are. ${LINES}`,
  answers: { 200: { media: 'application/json', schema: asIs<Verified>() } },
  handler: (context, { verifier }) => {
    return inLines<Verified>(context, options => verifier.verify(options))
  },
})

const backup = route({
  ...owner,
  method: 'POST',
  path: '/backup',
  summary: 'Write a backup below the roots for backups',
  details:
    'Body: `{"directory", "force", "bytesPerSecond"}`, the last two optional; see [backups](backup.md). The backup of ' +
    `another node is 409 \`CONFLICT\` without \`force\`. ${LINES}`,
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
  summary: 'Hold records, holds, blocks and files against each other, and mend',
  details:
    '`{dryRun, seen, found, findings: [{kind, what, detail}]}`: `seen` and `found` count all, `findings` are the first ' +
    '1,000. Body, optional: `{"dryRun", "force"}`. Too much to let go of, or one that runs already, is 409 `CONFLICT`. ' +
    LINES,
  body: optionalJson(Type.Object({ dryRun: Type.Optional(Type.Boolean()), force: Type.Optional(Type.Boolean()) })),
  answers: { 200: { media: 'application/json', schema: asIs<Reconciled>() } },
  errors: ['CONFLICT'],
  handler: async (context, { reconciler }) => {
    const given = await context.body()
    return inLines<Reconciled>(context, options => reconciler.run({ ...given, ...options }))
  },
})

/** What the owner of a node may have done to all of it. */
export const adminUpkeepRoutes: readonly ContractRoute[] = [stats, collect, verify, reconcile, backup]

interface StepOptions {
  signal: AbortSignal
  onProgress?: (progress: object) => void
}

/** The outcome, or for who accepts `application/x-ndjson` a line after each step and the outcome last. */
async function inLines<Outcome extends object>(
  { request, requestId }: AuthenticatedContext,
  run: (options: StepOptions) => Promise<Outcome>,
): Promise<ApiResponse> {
  if (!/\bapplication\/x-ndjson\b/i.test(request.header('accept') ?? '')) {
    return jsonResponse(200, await run({ signal: request.signal }))
  }
  const lines = progressLines<object, Outcome>(requestId, (onProgress, unread) =>
    run({ signal: AbortSignal.any([request.signal, unread]), onProgress }),
  )
  return { status: 200, headers: { 'content-type': 'application/x-ndjson' }, body: lines }
}
