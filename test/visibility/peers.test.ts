import { describe, expect, test } from 'vitest'
import { withStillNet } from '../pins/fetches/support/net.ts'
import { pseudoRandom } from '../support/bytes.ts'

describe('peers over Bitswap', () => {
  test('get public blocks, and no private ones', { timeout: 120_000 }, () =>
    withStillNet(async net => {
      const [{ engine, account }, other] = [await net.node(), await net.node()]
      const [origin = ''] = await engine.addresses()
      const pin = (cid: string) => other.engine.pins.pin({ account: other.account, cid, origins: [origin] })
      const bytes = pseudoRandom(2_500_000, 'over Bitswap')
      const entries = [{ kind: 'file', path: 'big.bin', content: bytes }] as const
      const { record, files } = await engine.pins.uploadDirectory(entries, { account, visibility: 'private' })
      const { record: small } = await engine.pins.upload('private', { account, visibility: 'private' })
      const { record: open } = await engine.pins.upload('public', { account })
      expect((await pin(open.cid)).record.status).toBe('pinned')
      for (const cid of [record.cid, files[0]?.cid ?? '', small.cid]) {
        await expect(pin(cid)).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
      }
      await engine.pins.setVisibility({ account, uploadId: record.uploadId, visibility: 'public' })
      expect((await pin(record.cid)).record.status).toBe('pinned')
    }),
  )
})
