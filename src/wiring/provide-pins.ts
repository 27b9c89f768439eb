import { CensusTable } from '../catalogue/sqlite/census-table.ts'
import { sqliteContent } from '../catalogue/sqlite/content-catalogue.ts'
import { ClusterRegistry } from '../clusters/cluster-registry.ts'
import { EmbeddedBackend } from '../clusters/embedded-backend.ts'
import type { StagingBackend } from '../clusters/staging-backend.ts'
import { DEFAULT_MAX_DEPTH } from '../content/dag/walk.ts'
import { type ClusterDefinition, DEFAULT_CLUSTER } from '../domain/cluster.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { EngineConfig } from '../domain/options.ts'
import { DEFAULT_BACKEND_ID } from '../ledger/blocks.ts'
import { AccountRemoval } from '../pins/account-removal.ts'
import { CarImporter } from '../pins/car-importer.ts'
import { ExpirySweeper } from '../pins/expiry-sweeper.ts'
import { PinChanges } from '../pins/pin-changes.ts'
import { PinCommit } from '../pins/pin-commit.ts'
import { PinList } from '../pins/pin-list.ts'
import { PinService } from '../pins/pin-service.ts'
import { Pinner } from '../pins/pinner.ts'
import { Statistics } from '../pins/statistics.ts'
import { Timelock } from '../pins/timelock.ts'
import { UploadStaging } from '../pins/upload-staging.ts'
import { Uploader } from '../pins/uploader.ts'
import type { Parts } from './container.ts'
import { T } from './tokens.ts'

export interface PinParts {
  config: EngineConfig
  clusters: readonly ClusterDefinition[]
  importRoots: readonly string[]
  publicUrl: string
  /** Backend ids of clusters that have one of their own. */
  ownBackends: ReadonlyMap<string, number>
  /** Ids of the clusters that are kept elsewhere. */
  elsewhere: ReadonlySet<string>
}

/** Clusters and pins. Needs what access and content provide. */
export function providePins(parts: Parts, given: PinParts): void {
  const { config, clusters, importRoots, publicUrl, ownBackends, elsewhere } = given
  parts.provide(T.content, p => {
    const ledger = { roots: p.get(T.rootTable), holds: p.get(T.holds), blocks: p.get(T.blockTable) }
    return sqliteContent(p.get(T.database), p.get(T.writes), ledger, new Set(p.get(T.remoteBackends).keys()))
  })
  parts.provide(T.pinChanges, p => new PinChanges(p.get(T.events)))
  parts.provide(T.backends, p => {
    const tables = [p.get(T.ledger), p.get(T.heldRoots), p.get(T.clock)] as const
    return new Map([...p.get(T.blockStores)].map(([id, store]) => [id, new EmbeddedBackend(store, ...tables)]))
  })
  parts.provide(T.clusters, p => {
    const backends = new Map([...ownBackends].map(([cluster, id]) => [cluster, backendOf(p, id)]))
    return new ClusterRegistry({
      clusters,
      defaultCluster: config.defaultCluster ?? defaultOf(clusters),
      defaultBackend: backendOf(p, DEFAULT_BACKEND_ID),
      backends,
      elsewhere,
      publicUrl,
    })
  })
  parts.provide(T.timelock, () => new Timelock())
  parts.provide(
    T.pinCommit,
    p =>
      new PinCommit({
        accounts: p.get(T.accounts),
        plans: p.get(T.plans),
        clusters: p.get(T.clusters),
        timelock: p.get(T.timelock),
        records: p.get(T.content).records,
        clock: p.get(T.clock),
        changes: p.get(T.pinChanges),
        leaveFetch: fetchId => p.get(T.fetchScheduler).subscribersChanged(fetchId),
      }),
  )
  parts.provide(
    T.uploadStaging,
    p => new UploadStaging(p.get(T.clusters), p.get(T.pinCommit), p.get(T.content).records, nowOf(p).now),
  )
  parts.provide(
    T.uploader,
    p => new Uploader(p.get(T.clusters), p.get(T.pinCommit), p.get(T.uploadStaging), importRoots),
  )
  parts.provide(
    T.carImporter,
    p =>
      new CarImporter({
        clusters: p.get(T.clusters),
        staging: p.get(T.uploadStaging),
        commit: p.get(T.pinCommit),
        held: p.get(T.heldRoots),
        scheduler: p.get(T.fetchScheduler),
        clock: p.get(T.clock),
        maxDepth: config.pin?.maxDepth ?? DEFAULT_MAX_DEPTH,
      }),
  )
  parts.provide(T.pinner, p => {
    return new Pinner(p.get(T.clusters), p.get(T.pinCommit), p.get(T.heldRoots), p.get(T.networkPinner), nowOf(p).now)
  })
  parts.provide(T.pinList, p => new PinList(p.get(T.pinCommit), p.get(T.content), nowOf(p).now))
  const stored = (p: Parts) => ({
    records: p.get(T.content).records,
    clock: p.get(T.clock),
    changes: p.get(T.pinChanges),
  })
  parts.provide(T.sweeper, p => {
    const logger = p.get(T.logger)
    const leaveFetch = (fetchId: number): void => {
      p.get(T.fetchScheduler)
        .subscribersChanged(fetchId)
        .catch((error: unknown) => logger.error({ err: error, fetch: fetchId }, 'a fetch could not be given up'))
    }
    return new ExpirySweeper({ ...stored(p), leaveFetch, logger })
  })
  parts.provide(
    T.pins,
    p =>
      new PinService({
        ...stored(p),
        uploader: p.get(T.uploader),
        carImporter: p.get(T.carImporter),
        pinner: p.get(T.pinner),
        lists: p.get(T.pinList),
        commit: p.get(T.pinCommit),
        sweeper: p.get(T.sweeper),
        scheduler: p.get(T.fetchScheduler),
        statuses: p.get(T.pinStatus),
        activity: p.get(T.activity),
      }),
  )
  parts.provide(
    T.accountRemoval,
    p =>
      new AccountRemoval({
        accounts: p.get(T.access).accounts,
        pins: p.get(T.pins),
        pinned: async (accountId, limit) => {
          const live = { accountId, multihash: null, hasExpiration: false, now: p.get(T.clock).now() }
          const { rows } = await p.get(T.content).records.page(live, 0, limit)
          return rows.map(({ cid }) => cid)
        },
        clock: p.get(T.clock),
        logger: p.get(T.logger),
      }),
  )
  parts.provide(T.statistics, p => {
    const verification = () => {
      const { blocks = 0, damaged = 0, lastBlock = 0, endedAt = null } = p.get(T.verificationTable).get() ?? {}
      return { blocks, damaged, isRunning: lastBlock > 0, endedAt }
    }
    const peerCount = (): number => p.get(T.network).peerCount()
    const disks = () =>
      Promise.all([...p.get(T.reserves)].map(async ([backend, reserve]) => ({ backend, ...(await reserve.look()) })))
    return new Statistics(new CensusTable(p.get(T.database)), p.get(T.activity), { peerCount, disks, verification })
  })
}

function nowOf(parts: Parts): { now: () => number } {
  const clock = parts.get(T.clock)
  return { now: () => clock.now() }
}

function defaultOf(clusters: readonly ClusterDefinition[]): string {
  if (clusters.some(cluster => cluster.id === DEFAULT_CLUSTER)) return DEFAULT_CLUSTER
  return clusters[0]?.id ?? DEFAULT_CLUSTER
}

function backendOf(parts: Parts, id: number): StagingBackend {
  const backend = parts.get(T.backends).get(id)
  if (backend === undefined) throw new HoldfastError('INTERNAL_ERROR', `there is no backend ${id}`)
  return backend
}
