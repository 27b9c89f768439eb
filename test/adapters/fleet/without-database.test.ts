import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApiHandler } from '../../../src/index.ts'
import { withFleet } from '../../support/fleet.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'

async function get(handler: ApiHandler, path: string) {
  const { status, body } = await handler({
    method: 'GET',
    path,
    query: '',
    header: () => undefined,
    body: (async function* () {})(),
    signal: new AbortController().signal,
    remoteAddress: '127.0.0.1',
  })
  return { status, body }
}

describe('a fleet without its database', needsPostgres, () => {
  let postgres: TestPostgres
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres?.stop())

  test('leaves its gateway ready, but not its API', async () => {
    const clock = new ManualClock()
    await withFleet(
      await postgres.fresh(),
      async ({ a }) => {
        await postgres.crash()
        try {
          clock.advance(6_000)
          expect(await get(a.engine.api, '/ready')).toMatchObject({ status: 503, body: '{"status":"no-catalogue"}' })
          expect(await get(a.engine.ownGateway, '/ready')).toMatchObject({ status: 200, body: '{"status":"ok"}' })
        } finally {
          await postgres.start()
        }
      },
      { clock },
    )
  })
})
