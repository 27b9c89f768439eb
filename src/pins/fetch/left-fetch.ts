import type { CID } from 'multiformats/cid'
import type { FetchRow } from '../../catalogue/fetches.ts'
import type { PlacementRow, Placements } from '../../catalogue/placements.ts'
import { pause } from '../../concurrency/pause.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { FetchSession } from '../../network/block-fetcher.ts'
import type { Keeper } from '../placement/keeper.ts'
import { HOLD } from '../placement/placement-attempt.ts'

/** The clusters elsewhere, as fetches see them. */
export interface Keepers {
  /** Null for a backend that does not fetch by itself, or is here. */
  of(backendId: number): Keeper | null
  placements: Placements
  /** Has them told of what is due. */
  wake(): void
}

/** A DAG that a cluster has fetched by itself, to be counted there. */
export interface FetchedElsewhere {
  /** What it was told. */
  placement: PlacementRow
  /** Reads there. */
  session: FetchSession
  sizeOf: (cid: CID, signal: AbortSignal) => Promise<number>
}

/**
 * Has a cluster fetch a DAG by itself, and keep it, of which the root was found. What is told is noted first, so that it
 * is let go of there with the fetch, whatever stops in between.
 *
 * @param onMoved called as often as it is known to have moved
 * @throws HoldfastError `UNAVAILABLE`, and what the signal is aborted with
 */
export async function leaveTo(
  { backend, reader }: Keeper,
  { job, root, signal, onMoved }: { job: FetchRow; root: CID; signal: AbortSignal; onMoved: () => void },
  { placements, clock }: { placements: Placements; clock: Clock },
): Promise<FetchedElsewhere> {
  const by = { accountId: job.accountId, now: clock.now() }
  const placement = await placements.entrust(job.backendId, job, by)
  // What may still arrive there would take it away again, after any look.
  const lateMs = placement.unpinUntil - clock.now()
  if (lateMs > 0) await pause(clock, lateMs, signal)
  await backend.pin({
    hold: HOLD,
    root,
    source: null,
    origins: told(job.origins),
    ends: null,
    signal,
    onProgress: onMoved,
  })
  const { state } = await backend.status(job, signal)
  if (state !== 'pinned') throw new HoldfastError('UNAVAILABLE', `the cluster says that it is ${state}`)
  const session: FetchSession = {
    get: (cid, options) => reader.read(cid, options),
    providers: () => [],
    close: () => undefined,
  }
  return { placement, session, sizeOf: (cid, own) => backend.sizeOf(cid, own) }
}

/** Those that lead where they say: what a name stands for where the cluster is, nobody here can tell. */
function told(origins: readonly string[]): string[] {
  return origins.filter(origin => origin.startsWith('/ip4/') || origin.startsWith('/ip6/'))
}
