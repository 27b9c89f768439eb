import type { ClusterBackend } from '../clusters/cluster-backend.ts'
import type { BlockSource } from '../content/block-source.ts'
import { HoldfastError } from '../domain/errors.ts'
import { backends } from '../ledger/backend-table.ts'
import { PlacementRunner } from '../pins/placement-runner.ts'
import type { Parts } from './container.ts'
import type { Stores } from './stores.ts'
import { T } from './tokens.ts'

/** Clusters that are kept elsewhere, and who tells these what to keep. Needs pins and content. */
export function provideRemotes(
  parts: Parts,
  { database, ownBackends, blockFiles, remotes }: Pick<Stores, 'database' | 'ownBackends' | 'blockFiles' | 'remotes'>,
): void {
  parts.provide(T.remoteBackends, () => {
    const identities = new Map(backends(database).map(({ id, identity }) => [id, identity]))
    const made = new Map<number, ClusterBackend>()
    for (const [cluster, { connect }] of remotes) {
      const id = ownBackends.get(cluster)
      const identity = id === undefined ? undefined : identities.get(id)
      if (id === undefined || identity === undefined) {
        throw new HoldfastError('INTERNAL_ERROR', `the cluster ${cluster} has no backend`)
      }
      made.set(id, connect(`holdfast:${identity}`))
    }
    return made
  })
  parts.provide(T.placementRunner, p => {
    const changes = p.get(T.pinChanges)
    const logger = p.get(T.logger)
    const sourceOf = (backendId: number): BlockSource => {
      const backend = p.get(T.backends).get(backendId)
      if (backend === undefined) throw new HoldfastError('INTERNAL_ERROR', `there is no backend ${backendId}`)
      return backend.reader
    }
    return new PlacementRunner({
      backends: p.get(T.remoteBackends),
      sourceOf,
      placements: p.get(T.content).placements,
      clock: p.get(T.clock),
      logger,
      onChanges: made => {
        for (const { record, from } of made) changes.changed(record, from)
      },
      onPlaced: backendId => {
        blockFiles
          .get(backendId)
          ?.trim()
          .catch((error: unknown) => logger.warn({ err: error }, 'a cache could not be trimmed'))
      },
    })
  })
}

/** Begins to tell clusters elsewhere what to keep, and goes on whenever that changes. */
export function startRemotes(parts: Parts): void {
  const runner = parts.get(T.placementRunner)
  const wake = (): void => runner.wake()
  parts.get(T.pinChanges).observe({ created: wake, changed: wake, removed: wake })
  wake()
}
