import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CataloguePastTable } from '../../src/ledger/catalogue-past.ts'
import { Database } from '../../src/storage/database.ts'
import { apiRequest } from '../gateway/client.ts'
import { withEngine } from '../support/test-engine.ts'

const MARKS = { past: { system: '1', timeline: '1', database: '1' }, problem: null }

test('public roots answer 503 until their owners are compared', async () => {
  await withEngine(async ({ engine, dataDir, account }) => {
    const { secret } = await engine.keys.create(account, { name: 'r', scopes: ['files:read'] })
    const { cid } = (await engine.pins.upload('public', { account })).record
    const own = (await engine.pins.upload('private', { account, visibility: 'private' })).record.cid
    const get = (path: string, headers = {}) => engine.gateway(apiRequest('GET', `/ipfs/${path}`, headers))
    const database = new Database(join(dataDir, 'holdfast.db'))
    try {
      const past = new CataloguePastTable(database)
      past.put({ ...MARKS, setBack: null })
      expect((await get(cid)).status).toBe(200)
      past.put({ ...MARKS, setBack: 'noted' })
      expect(await get(cid)).toMatchObject({ status: 503, headers: { 'retry-after': '5' } })
      // Nothing is adopted from them, either.
      const { id: other } = await engine.accounts.create({ email: 'two@example.org', plan: 'unlimited' })
      await expect(engine.pins.pin(cid, { account: other })).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
      expect((await get(own, { 'x-api-key': secret })).status).toBe(200)
      // A root that is stored later is of the present catalogue.
      const later = (await engine.pins.upload('later', { account })).record.cid
      expect((await get(later)).status).toBe(200)
      database.prepare('DELETE FROM uncompared').run()
      expect((await get(cid)).status).toBe(200)
    } finally {
      database.close()
    }
  })
})
