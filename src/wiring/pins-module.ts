import type { FetchRow, StatusChange } from '../catalogue/fetches.ts'
import type { PlacementRow } from '../catalogue/placements.ts'
import { unsettled } from '../concurrency/woken-work.ts'
import { CheckedSource, FirstSource } from '../content/block-source.ts'
import type { OwnedDag } from '../ledger/whole-dag.ts'
import type { Announcer } from '../pins/announcer.ts'
import { DeletionStop } from '../pins/deletion-stop.ts'
import { FetchScheduler } from '../pins/fetch/fetch-scheduler.ts'
import { NetworkPinner } from '../pins/fetch/network-pinner.ts'
import type { NodeFetcher } from '../pins/fetch/node-fetcher.ts'
import type { PinList } from '../pins/lists/pin-list.ts'
import { PinStatusView } from '../pins/lists/pin-status-view.ts'
import type { SearchRoom } from '../pins/lists/search-room.ts'
import { PinChanges } from '../pins/pin-changes.ts'
import { PinCommit } from '../pins/pin-commit.ts'
import { PinService } from '../pins/pin-service.ts'
import { PinTargets } from '../pins/pin-targets.ts'
import { Pinner } from '../pins/pinner.ts'
import type { PlacementRunner } from '../pins/placement/placement-runner.ts'
import { AccountRemoval } from '../pins/removal/account-removal.ts'
import { ExpirySweeper } from '../pins/removal/expiry-sweeper.ts'
import { Timelock } from '../pins/removal/timelock.ts'
import type { CarImporter } from '../pins/upload/car-importer.ts'
import { UploadStaging } from '../pins/upload/upload-staging.ts'
import { Uploader } from '../pins/upload/uploader.ts'
import { VisibilityChanges } from '../pins/visibility-changes.ts'
import { announcerOf } from './announcer-parts.ts'
import type { BaseModules } from './base-modules.ts'
import type { Lifecycle } from './container.ts'
import { foundBeside } from './found-beside.ts'
import { LaterModule } from './later-module.ts'
import { loaders } from './loaders.ts'
import { memoryShares } from './memory-shares.ts'
import { ownAccountOf } from './own-account.ts'
import type { Setup } from './setup.ts'
import { copiedOf, shownPlaces } from './shown-copies.ts'

/** Maximum number of concurrent block requests for one DAG. */
const BLOCKS_AT_ONCE = 32

export type PinsModule = ReturnType<typeof makePins>

export interface PinModules extends BaseModules {
  pins: PinsModule
}

interface Shared extends BaseModules {
  changes: PinChanges
  deletion: DeletionStop
  publishChanges: (made: readonly StatusChange[]) => void
}

export function makePins(setup: Setup, below: BaseModules) {
  const { clock, logger, events, activity } = setup
  const { storage, network } = below
  const { records, bulk } = storage.catalogue
  const changes = new PinChanges(events)
  const publishChanges = (made: readonly StatusChange[]): void => {
    for (const { record, from } of made) changes.changed(record, from)
  }
  const deletion = new DeletionStop({
    stops: storage.catalogue.stops,
    collector: below.content.collector,
    isSetBack: async () => storage.shared?.past.problem != null && (await storage.offers?.pending()) != null,
    logger,
  })
  const shared = { ...below, changes, deletion, publishChanges }
  let placements: PlacementRunner | null = null
  const wakePlacements = (): void => placements?.wake()
  const scheduler = fetchScheduler(setup, shared, wakePlacements)
  const leaveFetch = (fetchId: number): void => void scheduler.left(fetchId)
  const sweeper = new ExpirySweeper({ records, clock, changes, leaveFetch, logger })
  const makers = pinMakers(setup, shared, scheduler)
  const ownAccount = ownAccountOf(setup, below.access)
  const { targets } = makers
  const visibility = new VisibilityChanges({
    ...below.nodes,
    records,
    targets,
    clock,
  })
  const parts = { sweeper, scheduler, records, bulk, clock, changes, activity, visibility, ownAccount }
  const service = new PinService({ ...makers, ...parts })
  const accountRemoval = new AccountRemoval({
    accounts: { ...storage.catalogue.accounts, purge: storage.purge },
    bulk,
    pins: service,
    clock,
    logger,
  })
  const { node } = network
  let announcer: Announcer | null = null
  return {
    service,
    visibility,
    scheduler,
    backendOf: makers.backendOf,
    targets,
    wakeSweeper: () => sweeper.wake(),
    changes,
    deletion,
    publishChanges,
    accountRemoval,
    announcements: () => announcer?.backlog() ?? null,
    wakePlacements,
    /** Loads what only calls and requests use. */
    loadAll: async (): Promise<void> => {
      await Promise.all([makers.lists.load(), makers.carImporter.load()])
    },
    start: async (): Promise<void> => {
      await deletion.start()
      sweeper.start()
      below.access.accounts.whenDeleted(() => accountRemoval.wake())
      accountRemoval.wake()
      changes.observe({ changed: record => below.clusters.forgetPeers(record) })
      if (below.clusters.remote.size > 0) {
        placements = await placementRunner(setup, shared)
        changes.wakes(placements)
        placements.wake()
      }
      announcer = await announcerOf(setup, { ...shared, visibility })
      await announcer?.start()
      const { member } = below.nodes
      const fetcher = member === null ? node : await nodeFetcher(shared)
      if (fetcher !== null) await scheduler.start(fetcher, (await loaders.fetchAttempt()).attemptMaker)
    },
    unsettled: () => unsettled([scheduler, placements, accountRemoval, sweeper]),
    stop: async (): Promise<void> => {
      await scheduler.stop()
      await placements?.stop()
      announcer?.stop()
      await makers.lists.stop()
      await makers.carImporter.stop()
      await accountRemoval.stop()
      await sweeper.stop()
    },
  }
}

async function nodeFetcher(shared: Shared): Promise<NodeFetcher> {
  const { NodeFetcher } = await loaders.nodeFetcher()
  return new NodeFetcher(shared.network.node, (cid, by) => foundBeside(cid, by, shared))
}

function pinMakers({ clock, config, memoryBytes }: Setup, shared: Shared, scheduler: FetchScheduler) {
  const { storage, access, clusters, network, nodes, changes, deletion } = shared
  const { catalogue, heldRoots: held } = storage
  const { records, fetches } = catalogue
  const { registry } = clusters
  const external = {
    isExternal: (id: string) => (registry.nodeOf(id) === null ? registry.isExternal(id) : null),
    hasCopies: (id: string) => registry.copiesOf(id) > 1,
    peersOf: async (id: string, dag: OwnedDag) => {
      if (registry.copiesOf(id) > 1) return shownPlaces(storage, dag)
      const node = registry.nodeOf(id)
      return node === null ? clusters.peersOf(id, dag) : ((await nodes.member?.peersOf(node, id, dag)) ?? null)
    },
  }
  const { accounts, plans } = access
  const timelock = new Timelock()
  const targets = new PinTargets({ accounts, plans, clusters: registry, timelock, clock })
  const leaveFetch = (fetchId: number): Promise<void> => scheduler.left(fetchId)
  const copied = copiedOf(shared)
  const commit = new PinCommit({ clusters: registry, records, clock, changes, deletion, leaveFetch, copied })
  const staging = new UploadStaging(
    registry,
    targets,
    records,
    catalogue.keys,
    clock,
    deletion,
    nodes.member?.receiverOf,
  )
  const { findTimeoutSeconds, waitSeconds, maxBlocks, maxDepth } = config.pin
  const times = { findMs: findTimeoutSeconds * 1_000, waitMs: waitSeconds * 1_000 }
  const fetcher = network.node
  const networkPinner = new NetworkPinner({ scheduler, fetches, records, clock, changes, times, fetcher })
  const backendOf = (clusterId: string): number | null =>
    registry.nodeOf(clusterId) !== null || registry.absent.includes(clusterId) ? null : registry.backendOf(clusterId).id
  const lists = new LaterModule<{ lists: PinList; room: SearchRoom } & Lifecycle>(async () => {
    const [{ PinList }, { SearchRoom }] = await Promise.all([loaders.pinList(), loaders.searchRoom()])
    const room = new SearchRoom(memoryShares(memoryBytes).searches, clock)
    return { lists: new PinList({ targets, catalogue, clock, room }), room }
  })
  return {
    backendOf,
    targets,
    timelock,
    uploader: new Uploader({ clusters: registry, commit, staging, importRoots: storage.importRoots }),
    carImporter: new LaterModule<{ importer: CarImporter } & Lifecycle>(async () => {
      const { CarImporter } = await loaders.carImporter()
      const bounds = { maxBlocks, maxDepth }
      return {
        importer: new CarImporter({
          clusters: registry,
          staging,
          commit,
          stored: clusters.possessed,
          scheduler,
          clock,
          bounds,
        }),
      }
    }),
    pinner: new Pinner({
      clusters: registry,
      targets,
      commit,
      held,
      stored: clusters.possessed,
      network: networkPinner,
      clock,
      others: async (cid, by) => nodes.member?.find(cid, by) ?? null,
      maxBlocks,
    }),
    lists,
    statuses: new PinStatusView(catalogue, scheduler, clock, external, async () => (await lists.load()).room),
  }
}

function fetchScheduler(
  { clock, logger, metrics, config }: Setup,
  { storage, access, clusters, deletion, publishChanges }: Shared,
  wakePlacements: () => void,
) {
  const { accounts, records, fetches, placements } = storage.catalogue
  const { pin } = config
  const attempts = {
    // A deleted account has no plan and therefore no limits. Its records will be removed soon.
    limitsOf: async (accountId: string) =>
      deletion.lowered(accountId, access.plans.get((await accounts.get(accountId))?.plan ?? '')),
    deletion,
    backendOf: (backendId: number) => clusters.registry.backends.find(({ id }) => id === backendId),
    records,
    fetches,
    clock,
    bounds: {
      maxBlocks: pin.maxBlocks,
      maxDepth: pin.maxDepth,
      concurrency: BLOCKS_AT_ONCE,
    },
    times: { stallMs: pin.stallSeconds * 1_000, attemptMs: pin.attemptSeconds * 1_000 },
    onChanges: publishChanges,
    isHere: (fetch: FetchRow) => {
      const root = storage.heldRoots.find(fetch.backendId, fetch, fetch.owner)
      return root !== undefined && storage.heldRoots.isLive(root.id, clock.now())
    },
    fetchingBackends: {
      of: (id: number) => clusters.fetchingBackends.get(id) ?? null,
      placements,
      wake: wakePlacements,
    },
  }
  return new FetchScheduler(attempts, logger, metrics)
}

async function placementRunner(
  { clock, logger }: Setup,
  { storage, clusters, publishChanges }: Shared,
): Promise<PlacementRunner> {
  const parts = {
    backends: clusters.remote,
    // An external backend may have lost blocks. Another cluster of this node may still have these blocks.
    sourceOf: (backendId: number) => {
      const beside = clusters.registry.backends.flatMap(({ id, reader }) => {
        return id === backendId || reader === null ? [] : new CheckedSource(reader)
      })
      return new FirstSource([clusters.embeddedOf(backendId).reader, ...beside])
    },
    sizeOf: (row: PlacementRow) => storage.heldRoots.findOfAny(row.backendId, row)?.dagSize,
    fetchingBackends: clusters.fetchingBackends,
    placements: storage.catalogue.placements,
    clock,
    onChanges: publishChanges,
  }
  const { PlacementRunner } = await loaders.placementRunner()
  return new PlacementRunner(parts, logger)
}
