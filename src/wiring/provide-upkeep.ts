import type { StatusChange } from '../catalogue/fetches.ts'
import { CheckedSource } from '../content/block-source.ts'
import type { EngineConfig } from '../domain/options.ts'
import { LostBlocks } from '../upkeep/lost-blocks.ts'
import { Reconciler } from '../upkeep/reconciler.ts'
import { ScheduledVerification, verificationOptions } from '../upkeep/scheduled-verification.ts'
import type { Parts } from './container.ts'
import { T } from './tokens.ts'

/** What sees to it that everything fits together. Needs content, clusters, pins and fetches. */
export function provideUpkeep(parts: Parts, { verify = {} }: EngineConfig): void {
  const fetchesChanged = async (p: Parts, fetchIds: readonly number[]): Promise<void> => {
    const scheduler = p.get(T.fetchScheduler)
    for (const id of fetchIds) await scheduler.subscribersChanged(id)
    scheduler.wake()
  }
  parts.provide(T.lostBlocks, p => {
    const changes = p.get(T.pinChanges)
    return new LostBlocks({
      reconciliation: p.get(T.content).reconciliation,
      blocks: p.get(T.blockTable),
      ledger: p.get(T.ledger),
      audit: p.get(T.blockAudit),
      stores: p.get(T.blockStores),
      readersBeside: backendId =>
        p
          .get(T.clusters)
          .backends.filter(({ id }) => id !== backendId)
          .flatMap(({ reader }) => (reader === null ? [] : new CheckedSource(reader))),
      homes: () => p.get(T.clusters).homes,
      clock: p.get(T.clock),
      onChanges: (made: readonly StatusChange[]) => {
        for (const { record, from } of made) changes.changed(record, from)
      },
      fetchesChanged: fetchIds => fetchesChanged(p, fetchIds),
    })
  })
  parts.provide(
    T.reconciler,
    p =>
      new Reconciler({
        reconciliation: p.get(T.content).reconciliation,
        blocks: p.get(T.blockTable),
        audit: p.get(T.blockAudit),
        lost: p.get(T.lostBlocks),
        stores: p.get(T.blockStores),
        homes: () => p.get(T.clusters).homes,
        clock: p.get(T.clock),
        activity: p.get(T.activity),
        fetchesChanged: fetchIds => fetchesChanged(p, fetchIds),
      }),
  )
  const options = verificationOptions(verify)
  parts.provide(T.verification, p => {
    if (options === null) return null
    const pieces = {
      table: p.get(T.verificationTable),
      blocks: p.get(T.blockTable),
      verifier: p.get(T.verifier),
      lost: p.get(T.lostBlocks),
      hasNetwork: () => p.get(T.network).fetcher !== null,
      clock: p.get(T.clock),
      logger: p.get(T.logger),
    }
    return new ScheduledVerification(pieces, options)
  })
}
