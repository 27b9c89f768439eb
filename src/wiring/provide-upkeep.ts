import type { StatusChange } from '../catalogue/fetches.ts'
import { Reconciler } from '../upkeep/reconciler.ts'
import type { Parts } from './container.ts'
import { T } from './tokens.ts'

/** What sees to it that everything fits together. Needs content, clusters, pins and fetches. */
export function provideUpkeep(parts: Parts): void {
  parts.provide(T.reconciler, p => {
    const changes = p.get(T.pinChanges)
    return new Reconciler({
      reconciliation: p.get(T.content).reconciliation,
      blocks: p.get(T.blockTable),
      audit: p.get(T.blockAudit),
      stores: p.get(T.blockStores),
      homes: () => p.get(T.clusters).homes,
      clock: p.get(T.clock),
      activity: p.get(T.activity),
      onChanges: (made: readonly StatusChange[]) => {
        for (const { record, from } of made) changes.changed(record, from)
      },
      fetchesChanged: async fetchIds => {
        const scheduler = p.get(T.fetchScheduler)
        for (const id of fetchIds) await scheduler.subscribersChanged(id)
        scheduler.wake()
      },
    })
  })
}
