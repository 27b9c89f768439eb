import type { CID } from 'multiformats/cid'
import type { FetchRow } from '../../catalogue/fetches.ts'
import type { PlacementRow, Placements } from '../../catalogue/placements.ts'
import { pause } from '../../concurrency/pause.ts'
import type { Clock } from '../../domain/clock.ts'
import type { FetchSession } from '../../network/block-fetcher.ts'
import type { FetchingBackend } from '../placement/fetching-backend.ts'
import { HOLD } from '../placement/placement-attempt.ts'

/** External backends, as fetches use them. */
export interface FetchingBackends {
  /** Returns the backend if it is external and fetches by itself, otherwise null. */
  of(backendId: number): FetchingBackend | null
  placements: Placements
  /** Runs the due pins and unpins of external backends. */
  wake(): void
}

/** DAG that an external backend has fetched by itself. This node still has to count it. */
export interface ExternalFetch {
  /** The placement row that asked for the DAG. */
  placement: PlacementRow
  /** Reads blocks from the backend. */
  session: FetchSession
  sizeOf: (cid: CID, signal: AbortSignal) => Promise<number>
}

/**
 * Has an external backend fetch and pin a DAG whose root was found. The placement is written first. After a crash it
 * still says that the DAG must be unpinned with the fetch.
 *
 * @param onMoved called on each sign of progress
 * @throws HoldfastError `UNAVAILABLE`; the abort reason of the signal
 */
export async function fetchExternally(
  { backend, reader }: FetchingBackend,
  { job, root, signal, onMoved }: { job: FetchRow; root: CID; signal: AbortSignal; onMoved: () => void },
  { placements, clock }: { placements: Placements; clock: Clock },
): Promise<ExternalFetch> {
  const by = { accountId: job.accountId, now: clock.now() }
  const placement = await placements.entrust(job.backendId, job, by)
  // An unpin sent earlier may still arrive. After a new pin it would remove the content, whatever a check had shown.
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

/** Keeps only IP addresses. A host name may resolve differently on the external system. */
function ipOrigins(origins: readonly string[]): string[] {
  return origins.filter(origin => origin.startsWith('/ip4/') || origin.startsWith('/ip6/'))
}
