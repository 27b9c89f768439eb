import { expect, test, vi } from 'vitest'
import { RequestShares } from '../../src/access/limits/request-shares.ts'
import type { RequestWindows } from '../../src/catalogue/sign-in.ts'
import { ManualClock } from '../support/manual-clock.ts'

const WINDOW = { windowSeconds: 60 }

function sharesOf(...grants: number[]) {
  const grant = vi.fn<RequestWindows['grant']>(async buckets => {
    const granted = grants.shift() ?? 0
    return buckets.map(() => ({ granted, left: 0, msLeft: 60_000 }))
  })
  const shares = new RequestShares({ grant } as RequestWindows, new ManualClock())
  return async (requests: number): Promise<boolean> => {
    const [taken] = await shares.take([{ key: 'key', limit: { ...WINDOW, requests } }])
    return taken?.allowed === true
  }
}

test('a lowered limit ends the requests that the node was granted before', async () => {
  const take = sharesOf(10, 0)
  expect(await take(10)).toBe(true)
  expect(await take(2)).toBe(false)
})

test('a raised limit keeps the requests that the node was granted before', async () => {
  const take = sharesOf(2, 0)
  expect(await take(2)).toBe(true)
  expect([await take(3), await take(3)]).toEqual([true, false])
})
