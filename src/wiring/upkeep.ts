import { Backups } from '../backup/backups.ts'
import { copyKeys } from '../backup/keys.ts'
import { CheckedSource } from '../content/block-source.ts'
import { Statistics } from '../pins/statistics.ts'
import type { SurveyedBackend } from '../upkeep/cluster-survey.ts'
import { LostBlocks } from '../upkeep/lost-blocks.ts'
import { Reconciler, type ReconcilerParts } from '../upkeep/reconciler.ts'
import { ScheduledReconciliation } from '../upkeep/scheduled-reconciliation.ts'
import { ScheduledVerification, verificationOptions } from '../upkeep/scheduled-verification.ts'
import type { ClustersModule } from './clusters.ts'
import type { ContentModule } from './content.ts'
import type { NetworkModule } from './network.ts'
import type { PinsModule } from './pins.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage.ts'

const HOUR_MS = 3_600_000

export type UpkeepModule = ReturnType<typeof makeUpkeep>

interface Below {
  storage: StorageModule
  content: ContentModule
  clusters: ClustersModule
  network: NetworkModule
  pins: PinsModule
}

/** What sees to it that everything fits together and is kept, and tells how much it is. */
export function makeUpkeep(setup: Setup, below: Below) {
  const { clock, logger, activity, config, history, failures } = setup
  const { blocks, catalogue, verification: table } = below.storage
  const { audit, blockStores: stores, verifier } = below.content
  const { registry } = below.clusters
  const { scheduler, tellChanges } = below.pins
  const { reconciliation } = catalogue
  const homes = () => registry.homes
  const fetchesChanged = async (fetchIds: readonly number[]): Promise<void> => {
    for (const id of fetchIds) await scheduler.subscribersChanged(id)
    scheduler.wake()
  }
  const lost = new LostBlocks({
    reconciliation,
    blocks,
    ledger: below.storage.ledger,
    audit,
    stores,
    readersBeside: backendId => {
      const others = registry.backends.filter(({ id }) => id !== backendId)
      return others.flatMap(({ reader }) => (reader === null ? [] : new CheckedSource(reader)))
    },
    homes,
    clock,
    onChanges: tellChanges,
    fetchesChanged,
  })
  const options = verificationOptions(config.verify)
  const hasNetwork = (): boolean => below.network.node !== null
  const verification =
    options && new ScheduledVerification({ table, blocks, verifier, lost, hasNetwork, clock, logger }, options)
  const statistics = statisticsOf(setup, below)
  const clusters = surveyedClusters(setup, below)
  const past = below.storage.shared?.past ?? null
  const parts = { reconciliation, blocks, audit, lost, past, stores, homes, clock, activity, fetchesChanged, clusters }
  const reconciler = new Reconciler(parts)
  const { everyHours } = config.reconcile
  const reconciling =
    clusters.backends.size === 0 || everyHours === 0
      ? null
      : new ScheduledReconciliation({ reconciler, clock, logger }, everyHours * HOUR_MS)
  return {
    history,
    failures,
    reconciler,
    backups: backupsOf(setup, below),
    statistics,
    start: async (): Promise<void> => {
      verification?.start()
      reconciling?.start()
      history.start(() => statistics.read())
    },
    stop: async (): Promise<void> => {
      history.stop()
      await reconciling?.stop()
      await verification?.stop()
    },
  }
}

/** What keeps clusters elsewhere, as it is looked into. */
function surveyedClusters({ clock, config }: Setup, { storage, clusters, pins }: Below): ReconcilerParts['clusters'] {
  const backends = new Map<number, SurveyedBackend>()
  for (const [cluster, { reader }] of storage.remotes) {
    const id = storage.ownBackends.get(cluster)
    const backend = id === undefined ? undefined : clusters.remote.get(id)
    if (id === undefined || backend === undefined || backends.has(id)) continue
    backends.set(id, { backend, cluster, reader: reader === null ? null : new CheckedSource(reader) })
  }
  const { placements } = storage.catalogue
  const { sample } = config.reconcile
  return { backends, placements, clock, sample, random: Math.random, wake: () => pins.wakePlacements() }
}

function backupsOf({ dataDir, clock, activity, config }: Setup, { storage, content }: Below): Backups {
  const { blockFiles, database, datastore } = storage
  const source = {
    dataDir,
    blockFiles,
    collector: content.collector,
    clock,
    copyDatabase: (file: string, signal?: AbortSignal) => database.copyTo(file, signal),
    copyKeys: (to: string) => copyKeys(dataDir, datastore, to),
  }
  return new Backups(source, activity, config.backupRoots)
}

function statisticsOf({ activity }: Setup, { storage, network, clusters }: Below): Statistics {
  return new Statistics(storage.census, activity, {
    peerCount: () => network.peerCount(),
    clusters: () => clusters.watch.health(),
    disks: () =>
      Promise.all([...storage.reserves].map(async ([backend, reserve]) => ({ backend, ...(await reserve.look()) }))),
    clockSkewMs: () => storage.shared?.changes.health.skewMs ?? null,
    verification: () => {
      const { blocks = 0, damaged = 0, lastBlock = 0, endedAt = null } = storage.verification.get() ?? {}
      return { blocks, damaged, isRunning: lastBlock > 0, endedAt }
    },
  })
}
