import type { CID } from 'multiformats/cid'
import type { FetchRow } from '../../catalogue/fetches.ts'
import type { PlacementRow, Placements } from '../../catalogue/placements.ts'
import { pause } from '../../concurrency/pause.ts'
import type { Clock } from '../../domain/clock.ts'
import type { FetchSession } from '../../network/block-fetcher.ts'
import type { FetchingBackend } from '../placement/fetching-backend.ts'
import { HOLD } from '../placement/placement-attempt.ts'

/** Access to the external backends for the fetches of this node. */
export interface FetchingBackends {
  /** Returns the backend if it is external and can fetch content by itself. Otherwise returns null. */
  of(backendId: number): FetchingBackend | null
  placements: Placements
  /** Wakes the runner that pins and unpins content on external backends. */
  wake(): void
}

/**
 * DAG that an external backend has fetched by itself. This node has not yet counted the blocks and bytes of the DAG.
 */
export interface ExternalFetch {
  /** Placement row for which the backend has pinned the DAG. */
  placement: PlacementRow
  /** Reads the blocks of the DAG from the backend. */
  session: FetchSession
  sizeOf: (cid: CID, signal: AbortSignal) => Promise<number>
}

/**
 * Asks an external backend to fetch and pin a DAG. The placement row is written first. After a crash the row shows that
 * the backend may have a pin to remove.
 *
 * @param onMoved called whenever the backend reports progress
 * @throws HoldfastError `UNAVAILABLE`; the abort reason of the signal
 */
export async function fetchExternally(
  { backend, reader }: FetchingBackend,
  { job, root, signal, onMoved }: { job: FetchRow; root: CID; signal: AbortSignal; onMoved: () => void },
  { placements, clock }: { placements: Placements; clock: Clock },
): Promise<ExternalFetch> {
  const by = { accountId: job.accountId, now: clock.now() }
  const placement = await placements.entrust(job.backendId, job, by)
  // An earlier unpin request may still take effect. After a new pin, such a request would remove the content.
  const lateMs = placement.unpinUntil - clock.now()
  if (lateMs > 0) await pause(clock, lateMs, signal)
  await backend.pin({
    hold: HOLD,
    root,
    source: null,
    origins: ipOrigins(job.origins),
    signal,
    onProgress: onMoved,
  })
  const session: FetchSession = {
    get: (cid, options) => reader.read(cid, options),
    providers: () => [],
    close: () => undefined,
  }
  return { placement, session, sizeOf: (cid, own) => backend.sizeOf(cid, own) }
}

/** Returns only the origins with an IP address. An external system may resolve a host name differently. */
function ipOrigins(origins: readonly string[]): string[] {
  return origins.filter(origin => origin.startsWith('/ip4/') || origin.startsWith('/ip6/'))
}
