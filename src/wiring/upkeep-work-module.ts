import { BlockAudit } from '../content/block-audit.ts'
import { CheckedSource, inlineBlocks } from '../content/block-source.ts'
import { Verifier } from '../content/verifier.ts'
import { checkEveryMs } from '../domain/cluster-check.ts'
import { HoldfastError } from '../domain/errors.ts'
import { type CheckedBackend, ClusterChecks } from '../upkeep/cluster-checks.ts'
import {
  ClusterSurvey,
  type ClusterSurveyParts,
  type SurveyedBackend,
  type SurveyOptions,
} from '../upkeep/cluster-survey.ts'
import { BlocksOfCopies } from '../upkeep/copied-blocks.ts'
import { LocalCopies } from '../upkeep/local-copies.ts'
import { LostBlocks } from '../upkeep/lost-blocks.ts'
import { checkOffered } from '../upkeep/offering.ts'
import { Reconciler, type ReconcilerParts } from '../upkeep/reconciler.ts'
import { ScheduledVerification, verificationOptions } from '../upkeep/scheduled-verification.ts'
import type { PinModules } from './pins-module.ts'
import type { Setup } from './setup.ts'

const HOUR_MS = 3_600_000

export type UpkeepWorkModule = ReturnType<typeof makeUpkeepWork>

/** Checks and repairs of what the node keeps: by schedule, or by a call. */
export function makeUpkeepWork(setup: Setup, below: PinModules) {
  const { clock, logger, longRuns, config } = setup
  const { blocks, blockFiles, ledger, catalogue, verification: table } = below.storage
  const { blockStores: stores } = below.content
  const { registry } = below.clusters
  const { scheduler, publishChanges } = below.pins
  const { reconciliation } = catalogue
  const { copies } = below.storage
  const { member } = below.nodes
  const readerOf = (nodes: readonly string[]) => member?.readerOf(...nodes) ?? inlineBlocks
  const verifier = new Verifier(blocks, stores, longRuns)
  const audit = new BlockAudit(blockFiles, blocks, ledger)
  const homes = () => registry.homes
  const fetchesChanged = async (fetchIds: readonly number[]): Promise<void> => {
    for (const id of fetchIds) await scheduler.subscribersChanged(id)
    scheduler.wake()
  }
  const lost = new LostBlocks({
    reconciliation,
    blocks,
    ledger,
    audit,
    stores,
    readersBeside: backendId => {
      const others = registry.backends.filter(({ id }) => id !== backendId)
      const own = others.flatMap(({ reader }) => (reader === null ? [] : new CheckedSource(reader)))
      return member === null ? own : [...own, new BlocksOfCopies({ copies, blocks, readerOf }, backendId)]
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
    reconciler,
    verifier,
    verification,
    start: async (): Promise<void> => {
      verification?.start()
      await checks.start()
    },
    stop: async (): Promise<void> => {
      lost.stop()
      await checks.stop()
      await verification?.stop()
    },
  }
}

/** Creates one scheduled check for each external backend. */
function clusterChecks(
  { config, clock, logger }: Setup,
  { storage }: PinModules,
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

function surveyedClusters(
  { clock, config }: Setup,
  { storage, clusters, pins }: PinModules,
): ReconcilerParts['clusters'] {
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
