import { expect, test } from 'vitest'
import { toFetch } from '../../adapters/fetch/index.ts'
import type { ApiHandler } from '../../src/index.ts'
import { ownersApi } from '../../src/wiring/loaded-handlers.ts'
import { withDatabase } from '../support/store-inspection.ts'
import { withEngine } from '../support/test-engine.ts'

const CID = 'bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm'

function rowsOf(dataDir: string): (number | undefined)[] {
  return withDatabase(dataDir, db =>
    ['accounts', 'api_keys', 'sessions', 'audit'].map(
      table => db.prepare<[], { count: number }>(`SELECT COUNT(*) AS count FROM ${table}`).get()?.count,
    ),
  )
}

/** Sends a request without a credential to `/admin/v1`, and returns the status. */
async function statusOf(api: ApiHandler, method: string, path: string, body?: object): Promise<number> {
  const headers = { 'content-type': 'application/json' }
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
  return (await toFetch({ api, gateway: api })(new Request(`http://localhost/admin/v1${path}`, init))).status
}

test('the owner in the process needs no credential, and leaves no row', async () => {
  await withEngine(async ({ engine, dataDir }) => {
    const before = rowsOf(dataDir)
    const api = ownersApi(engine.api)
    expect(await statusOf(api, 'POST', '/gc', { graceSeconds: 0 })).toBe(200)
    expect(await statusOf(api, 'POST', '/takedowns', { cid: CID, reason: 'test' })).toBe(201)
    expect(await statusOf(api, 'DELETE', `/takedowns/${CID}`)).toBe(200)
    expect(rowsOf(dataDir)).toEqual(before)
    expect(await statusOf(engine.api, 'POST', '/gc')).toBe(401)
  })
})
