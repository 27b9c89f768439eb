import { Type } from 'typebox'
import { orNull } from '../../config/schema-parts.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { iso } from '../../domain/iso-instant.ts'
import type { AuthenticatedContext } from '../../http/route.ts'
import type { PinProgress } from '../../pins/fetch/pin-progress.ts'
import { bytes, CLUSTER, cid, clusterId, count, describedCount, instant, text } from '../answer-fields.ts'
import { type ContractRoute, route, type Shown } from '../contract-route.ts'
import { pinFields, presentPin, shownName, shownNameOf, state } from '../record-fields.ts'
import { RequestTarget } from '../request-target.ts'
import type { Services } from '../services.ts'

export const Allocation = Type.Object({
  peer: Type.String({
    description: 'the cluster that holds it, a peer of a cluster on another system, or a node with a copy',
  }),
  status: state,
  timestamp: instant,
  error: orNull(text),
})

export const Status = Type.Object(
  {
    ...pinFields,
    statusAt: instant,
    reason: orNull(text),
    blocks: count,
    bytes,
    attempts: describedCount('attempts to fetch'),
    nextAttemptAt: orNull(instant),
    lastError: orNull(text),
    lastAnnounced: orNull(instant),
    peers: Type.Array(text, { description: 'ids of the clusters in which the account has this content' }),
    allocations: Type.Array(Allocation),
  },
  { title: 'Status' },
)

const Allocations = Type.Object(
  {
    cid,
    clusterId,
    name: shownName,
    timestamp: instant,
    replication_factor: count,
    nodes: Type.Array(Allocation),
    allocations: Type.Array(Allocation),
  },
  { title: 'Allocations' },
)

const shared = {
  method: 'GET',
  access: 'files:read',
  tag: 'Pin status',
  params: { cid: 'A CID, version 0 or 1, in any multibase.' },
  ...CLUSTER,
  errors: ['INVALID_CID', 'PIN_NOT_FOUND'],
  isRemembered: true,
} as const

const allocations = {
  ...shared,
  answers: { 200: Allocations },
  handler: async (
    context: AuthenticatedContext,
    services: Services,
  ): Promise<{ status: 200; body: Shown<typeof Allocations>; isLive: boolean }> => {
    const progress = await progressOf(context, services)
    return { status: 200, body: presentAllocations(progress), isLive: isLive(progress) }
  },
}

export const statusRoutes: readonly ContractRoute[] = [
  route({
    ...allocations,
    path: '/status/allocations/:cid',
    summary: 'List the clusters that hold content (other path)',
    isAlias: true,
  }),
  route({
    ...shared,
    path: '/status/:cid',
    summary: 'Show the status of a pin',
    answers: { 200: Status },
    handler: async (context, services) => {
      const progress = await progressOf(context, services)
      return { status: 200, body: presentStatus(progress), isLive: isLive(progress) }
    },
  }),
  route({ ...allocations, path: '/allocations/:cid', summary: 'List the clusters that hold content' }),
]

/** The progress of all matching records, newest first. */
type Progress = readonly [PinProgress, ...PinProgress[]]

async function progressOf(context: AuthenticatedContext, { pins }: Services): Promise<Progress> {
  const cluster = new RequestTarget(context).cluster()
  const cid = context.param('cid').trim()
  const [newest, ...others] = await pins.status({ account: context.principal.account.id, cid, cluster, peers: true })
  if (newest === undefined) throw new HoldfastError('PIN_NOT_FOUND', 'no pin for this cid: see the list of pins')
  return [newest, ...others]
}

/** Returns whether a fetch is shown, whose progress is in memory, or peers or copies, which are asked for each time. */
function isLive(progress: Progress): boolean {
  return progress.some(({ record: { status }, isExternal, peers }) => {
    return status !== 'pinned' || isExternal || (peers ?? []).length > 0
  })
}

/** Builds the status of content: the fields of its newest record, and one allocation for each record. */
function presentStatus(progress: Progress): Shown<typeof Status> {
  const [newest] = progress
  const allocations = allocationsOf(progress)
  return {
    ...presentPin(newest.record),
    statusAt: iso(newest.statusAt),
    reason: newest.reason,
    blocks: newest.blocks,
    bytes: newest.bytes,
    attempts: newest.attempts,
    nextAttemptAt: iso(newest.nextAttemptAt),
    lastError: newest.lastError,
    lastAnnounced: iso(newest.announcedAt),
    peers: [...new Set(allocations.map(({ peer }) => peer))],
    allocations,
  }
}

function presentAllocations(progress: Progress): Shown<typeof Allocations> {
  const [{ record, statusAt }] = progress
  const allocations = allocationsOf(progress)
  return {
    cid: record.cid,
    clusterId: record.clusterId,
    name: shownNameOf(record),
    timestamp: iso(statusAt),
    replication_factor: replicasOf(progress),
    nodes: allocations,
    allocations,
  }
}

/** Returns one allocation for each record, then one for each peer of the remote clusters. */
function allocationsOf(progress: Progress): Array<Shown<typeof Allocation>> {
  const peers = [...newestOf(progress).values()].flatMap(({ peers, statusAt }) =>
    (peers ?? []).map(({ peer, state, error }) => {
      return { peer, status: state === 'unpinned' ? ('queued' as const) : state, timestamp: iso(statusAt), error }
    }),
  )
  return [...progress.map(presentAllocation), ...peers]
}

/** Returns the newest record of each cluster, by cluster id. Older records of a cluster list the same peers. */
function newestOf(progress: readonly PinProgress[]): Map<string, PinProgress> {
  return new Map(progress.toReversed().map(one => [one.record.clusterId, one]))
}

/** Counts the peers that hold the content. A cluster that lists no peers counts as one peer. */
function replicasOf(progress: Progress): number {
  const pinned = newestOf(progress.filter(({ record: { status } }) => status === 'pinned'))
  const counts = [...pinned.values()].map(({ peers }) => {
    return Math.max(1, peers?.filter(({ state }) => state === 'pinned').length ?? 0)
  })
  return counts.reduce((sum, count) => sum + count, 0)
}

function presentAllocation({ record, statusAt, lastError }: PinProgress): Shown<typeof Allocation> {
  return { peer: record.clusterId, status: record.status, timestamp: iso(statusAt), error: lastError }
}
