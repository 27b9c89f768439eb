import type { StatusChange } from '../catalogue/fetches.ts'
import { SharedBlocks } from '../content/dag/fetch.ts'
import { DEFAULT_MAX_DEPTH } from '../content/dag/walk.ts'
import type { EngineConfig } from '../domain/options.ts'
import { FetchScheduler } from '../pins/fetch-scheduler.ts'
import { NetworkPinner } from '../pins/network-pinner.ts'
import { PinStatusView } from '../pins/pin-status.ts'
import type { Parts } from './container.ts'
import { T } from './tokens.ts'

/** Blocks of one DAG on their way at a time. */
const BLOCKS_AT_ONCE = 32

/** Pins whose content is still to come. Needs pins, clusters, content and the network. */
export function provideFetches(parts: Parts, { pin = {} }: EngineConfig): void {
  const ms = (seconds: number | undefined, fallback: number): number => (seconds ?? fallback) * 1_000
  parts.provide(T.fetchScheduler, p => {
    const changes = p.get(T.pinChanges)
    const access = p.get(T.access)
    const attempts = {
      // One that is gone waits for nothing more than its removal.
      limitsOf: (accountId: string) => p.get(T.plans).get(access.accounts.read(accountId)?.plan ?? ''),
      records: p.get(T.content).records,
      fetches: p.get(T.content).fetches,
      clock: p.get(T.clock),
      shared: new SharedBlocks(),
      bounds: {
        maxBlocks: pin.maxBlocks ?? 10_000_000,
        maxDepth: pin.maxDepth ?? DEFAULT_MAX_DEPTH,
        concurrency: BLOCKS_AT_ONCE,
      },
      times: { stallMs: ms(pin.stallSeconds, 30), attemptMs: ms(pin.attemptSeconds, 21_600) },
      onChanges: (made: readonly StatusChange[]) => {
        for (const { record, from } of made) changes.changed(record, from)
      },
    }
    return new FetchScheduler(attempts, p.get(T.clusters), p.get(T.logger))
  })
  parts.provide(
    T.networkPinner,
    p =>
      new NetworkPinner({
        scheduler: p.get(T.fetchScheduler),
        ...p.get(T.content),
        clock: p.get(T.clock),
        changes: p.get(T.pinChanges),
        times: { findMs: ms(pin.findTimeoutSeconds, 20), waitMs: ms(pin.waitSeconds, 20) },
        fetcher: p.get(T.network).fetcher,
      }),
  )
  parts.provide(T.pinStatus, p => {
    const clock = p.get(T.clock)
    const backendOf = (clusterId: string) => p.get(T.clusters).backendOf(clusterId).id
    return new PinStatusView(p.get(T.content), p.get(T.fetchScheduler), () => clock.now(), backendOf)
  })
}
