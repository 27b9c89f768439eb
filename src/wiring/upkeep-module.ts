import { Backups } from '../backup/backups.ts'
import { keysOf } from '../backup/key-directory.ts'
import { CheckedSource } from '../content/block-source.ts'
import { checkEveryMs } from '../domain/cluster-check.ts'
import { HoldfastError } from '../domain/errors.ts'
import { Statistics } from '../pins/lists/statistics.ts'
import { type CheckedBackend, ClusterChecks } from '../upkeep/cluster-checks.ts'
import {
  ClusterSurvey,
  type ClusterSurveyParts,
  type SurveyedBackend,
  type SurveyOptions,
} from '../upkeep/cluster-survey.ts'
import { LocalCopies } from '../upkeep/local-copies.ts'
import { LostBlocks } from '../upkeep/lost-blocks.ts'
import { checkOffered } from '../upkeep/offering.ts'
import { Reconciler, type ReconcilerParts } from '../upkeep/reconciler.ts'
import { ScheduledVerification, verificationOptions } from '../upkeep/scheduled-verification.ts'
import type { ClustersModule } from './clusters-module.ts'
import type { ContentModule } from './content-module.ts'
import type { NetworkModule } from './network-module.ts'
import type { PinsModule } from './pins-module.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

const HOUR_MS = 3_600_000

export type UpkeepModule = ReturnType<typeof makeUpkeep>

interface Below {
  storage: StorageModule
  content: ContentModule
  clusters: ClustersModule
  network: NetworkModule
  pins: PinsModule
}

export function makeUpkeep(setup: Setup, below: Below) {
  const { clock, logger, longRuns, config, history, failures } = setup
  const { blocks, catalogue, verification: table } = below.storage
  const { audit, blockStores: stores, verifier } = below.content
  const { registry } = below.clusters
  const { scheduler, publishChanges } = below.pins
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
    onChanges: publishChanges,
    fetchesChanged,
  })
  const options = verificationOptions(config.verify)
  const hasNetwork = (): boolean => below.network.node !== null
  const verification =
    options && new ScheduledVerification({ table, blocks, verifier, lost, hasNetwork, clock, logger }, options)
  const backups = backupsOf(setup, below)
  const statistics = statisticsOf(setup, below, { backups, verification })
  const clusters = surveyedClusters(setup, below)
  const past = below.storage.shared?.past ?? null
  const parts = {
    reconciliation,
    blocks,
    audit,
    lost,
    past,
    checkOffered: () => checkOffered(below.storage.offers),
    stores,
    homes,
    clock,
    activity: longRuns,
    readAhead: (signal?: AbortSignal) => below.storage.database.readAhead(setup.memoryBytes / 2, signal),
    fetchesChanged,
    clusters,
  }
  const reconciler = new Reconciler(parts)
  const checks = clusterChecks(setup, below, { clusters, onChanges: changes => lost.changed(changes) })
  return {
    history,
    failures,
    reconciler,
    backups,
    statistics,
    start: async (): Promise<void> => {
      verification?.start()
      await checks.start()
      history.start(() => statistics.read())
    },
    stop: async (): Promise<void> => {
      history.stop()
      await checks.stop()
      await verification?.stop()
    },
  }
}

/** Creates one scheduled check for each external backend. */
function clusterChecks(
  { config, clock, logger }: Setup,
  { storage }: Below,
  { clusters, onChanges }: { clusters: ReconcilerParts['clusters']; onChanges: ClusterSurveyParts['onChanges'] },
): ClusterChecks {
  const { remotes, ownBackends, blockFiles, clusterChecks: progress, shared } = storage
  const everyMs = config.reconcile.everyHours * HOUR_MS
  const checked = [...clusters.backends].flatMap(([id, { cluster }]): CheckedBackend[] => {
    const remote = remotes.get(cluster)
    const files = blockFiles.get(ownBackends.get(cluster) ?? id)
    if (remote === undefined || files === undefined) return []
    const { place, graceMs } = remote
    return [{ id, cluster, place, everyMs: checkEveryMs(everyMs, graceMs), keepAll: () => files.keepAll() }]
  })
  const survey = (id: number, options: SurveyOptions): ClusterSurvey => {
    const problem = shared?.past.problem ?? null
    if (problem !== null) throw new HoldfastError('CONFLICT', `${problem}: run a reconciliation`)
    const backends = new Map([...clusters.backends].filter(([backendId]) => backendId === id))
    return new ClusterSurvey({ ...clusters, backends, onChanges }, options)
  }
  return new ClusterChecks({ progress, survey, clock, logger }, checked)
}

function surveyedClusters({ clock, config }: Setup, { storage, clusters, pins }: Below): ReconcilerParts['clusters'] {
  const backends = new Map<number, SurveyedBackend>()
  for (const [cluster, { reader }] of storage.remotes) {
    const id = storage.ownBackends.get(cluster)
    const backend = id === undefined ? undefined : clusters.remote.get(id)
    if (id === undefined || backend === undefined || backends.has(id)) continue
    const fetchesItself = clusters.fetchingBackends.has(id)
    backends.set(id, { backend, cluster, reader: reader === null ? null : new CheckedSource(reader), fetchesItself })
  }
  const { blockFiles: files, blocks, ledger, heldRoots } = storage
  const copies = new LocalCopies({ files, blocks, ledger, heldRoots })
  return {
    backends,
    placements: storage.catalogue.placements,
    isWholeHere: (dag, signal) => copies.isWhole(dag, signal),
    confirm: (dags, began) => ledger.confirm(dags, began),
    clock,
    sample: config.reconcile.sample,
    random: Math.random,
    wake: () => pins.wakePlacements(),
  }
}

function backupsOf({ dataDir, clock, longRuns, metrics, config }: Setup, { storage, content }: Below): Backups {
  const { blockFiles, database, datastore } = storage
  const source = {
    dataDir,
    blockFiles,
    collector: content.collector,
    clock,
    copyDatabase: (file: string, signal?: AbortSignal) => database.copyTo(file, signal),
    keys: () => keysOf(dataDir, datastore),
  }
  return new Backups(source, longRuns, metrics, config)
}

function statisticsOf(
  { activity }: Setup,
  { storage, network, clusters, pins }: Below,
  { backups, verification }: { backups: Backups; verification: ScheduledVerification | null },
): Statistics {
  return new Statistics(storage.census, activity, {
    keptBytes: async () => (await storage.catalogue.bulk.keptTotals()).bytes,
    peerCount: () => network.peerCount(),
    publicNetwork: () => network.publicNetwork(),
    announcements: pins.announcements,
    clusters: () => clusters.watch.health(),
    backups: () => backups.newest(),
    disks: () =>
      Promise.all([...storage.reserves].map(async ([backend, reserve]) => ({ backend, ...(await reserve.look()) }))),
    clockSkewMs: () => storage.shared?.changes.health.skewMs ?? null,
    verification: () => {
      const { blocks = 0, damaged = 0, lastBlock = 0, endedAt = null } = storage.verification.get() ?? {}
      return { blocks, damaged, isRunning: lastBlock > 0, endedAt, behindMs: verification?.behindMs() ?? 0 }
    },
  })
}
