import type { CID } from 'multiformats/cid'
import type { FetchRow } from '../../catalogue/fetches.ts'
import type { PlacementRow, Placements } from '../../catalogue/placements.ts'
import { pause } from '../../concurrency/pause.ts'
import type { Clock } from '../../domain/clock.ts'
import type { FetchSession } from '../../network/block-fetcher.ts'
import type { FetchingBackend } from '../placement/fetching-backend.ts'
import { lateUnpinMs } from '../placement/late-unpin.ts'
import { HOLD } from '../placement/placement-attempt.ts'

export interface FetchingBackends {
  /** Returns null unless the backend is external and can fetch content by itself. */
  of(backendId: number): FetchingBackend | null
  placements: Placements
  wake(): void
}

/** DAG that an external backend has fetched. This node has not yet counted the blocks of the DAG. */
export interface ExternalFetch {
  placement: PlacementRow
  session: FetchSession
  sizeOf: (cid: CID, signal: AbortSignal) => Promise<number>
}

/**
 * Asks an external backend to fetch and pin a DAG. After a crash, the placement row shows that the backend may have the
 * pin.
 * @throws HoldfastError `UNAVAILABLE`; the abort reason of the signal
 */
export async function fetchExternally(
  { backend, reader }: FetchingBackend,
  { job, root, signal, onMoved }: { job: FetchRow; root: CID; signal: AbortSignal; onMoved: () => void },
  { placements, clock }: { placements: Placements; clock: Clock },
): Promise<ExternalFetch> {
  const by = { accountId: job.accountId, now: clock.now() }
  const placement = await placements.entrust(job.backendId, job, by)
  const lateMs = lateUnpinMs(placement, clock)
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

/** Drops host names, because an external system may resolve a host name differently. */
function ipOrigins(origins: readonly string[]): string[] {
  return origins.filter(origin => origin.startsWith('/ip4/') || origin.startsWith('/ip6/'))
}
