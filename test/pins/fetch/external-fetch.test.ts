import { CID } from 'multiformats/cid'
import { expect, test, vi } from 'vitest'
import type { FetchRow } from '../../../src/catalogue/fetches.ts'
import type { PlacementRow, Placements } from '../../../src/catalogue/placements.ts'
import { fetchExternally } from '../../../src/pins/fetch/external-fetch.ts'
import type { FetchingBackend } from '../../../src/pins/placement/fetching-backend.ts'
import { ManualClock } from '../../support/manual-clock.ts'

const LEASE_MS = 60_000

/** Asks a backend to fetch a DAG whose last unpin request may still arrive. */
function afterUnpin() {
  const clock = new ManualClock()
  const unpinUntil = clock.now() + LEASE_MS
  const pin = vi.fn(async () => undefined)
  const entrust = vi.fn(async () => ({ unpinUntil }) as PlacementRow)
  const abort = new AbortController()
  const job = { accountId: 'one', backendId: 1, origins: ['/ip4/192.0.2.1/tcp/1', '/dns4/a.example/tcp/1'] }
  const asked = {
    job: job as unknown as FetchRow,
    root: CID.parse('bafkqaaa'),
    signal: abort.signal,
    onMoved: () => undefined,
  }
  const fetching = { backend: { pin }, reader: {} } as unknown as FetchingBackend
  const fetched = fetchExternally(fetching, asked, { placements: { entrust } as unknown as Placements, clock })
  return { clock, pin, entrust, abort, fetched }
}

test('pins only when no late unpin request can remove the content', async () => {
  const { clock, pin, entrust, fetched } = afterUnpin()
  await expect.poll(() => clock.waiting).toBe(1)
  expect(entrust).toHaveBeenCalledTimes(1)
  clock.advance(LEASE_MS - 1)
  await new Promise(resolve => setImmediate(resolve))
  expect(pin).not.toHaveBeenCalled()
  clock.advance(1)
  await fetched
  expect(pin).toHaveBeenCalledWith(expect.objectContaining({ origins: ['/ip4/192.0.2.1/tcp/1'] }))
})

test('gives up while it waits for a late unpin request', async () => {
  const { clock, pin, abort, fetched } = afterUnpin()
  await expect.poll(() => clock.waiting).toBe(1)
  abort.abort(new Error('stopped'))
  await expect(fetched).rejects.toThrow('stopped')
  expect([pin.mock.calls.length, clock.waiting]).toEqual([0, 0])
})
