import { describe, expect, test } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { cidOf } from '../../../src/ipld/cid.ts'
import { PinStatusView } from '../../../src/pins/lists/pin-status-view.ts'
import { AWAY, commit, DAG, NOW, record } from '../../catalogue/content-support.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { withNode } from './catalogue-in-postgres.ts'
import { emptiedDatabase } from './opened-database.ts'

describe('a pin in a cluster on another system', needsPostgres, () => {
  let database: Postgres
  emptiedDatabase(opened => {
    database = opened
  })

  test('shows its attempts and last error on every node', async () => {
    await withNode(database, 'here', async here => {
      await commit(here, [record('r1', { clusterId: 'away' })], { backendId: AWAY })
      const placement = await here.placements.find(AWAY, DAG)
      if (placement === undefined) throw new Error('the content has no placement')
      await here.placements.begin(placement)
      await here.placements.retry(placement, { at: NOW + 60, reason: 'the cluster no longer has it' })
      await withNode(
        database,
        'there',
        async there => {
          const scheduler = { attempt: () => undefined } as never
          const external = { isExternal: () => null, hasCopies: () => false, peersOf: async () => null }
          const view = new PinStatusView(there, scheduler, new ManualClock(), external, () => {
            throw new Error('one record needs no room')
          })
          const [status] = await view.status('one', { cid: cidOf(DAG).toString(), cluster: null, peers: true })
          expect(status).toMatchObject({
            ...{ attempts: 1, nextAttemptAt: NOW + 60, lastError: 'the cluster no longer has it', peers: null },
          })
        },
        1,
      )
    })
  })
})
