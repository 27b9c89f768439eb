import type { CID } from 'multiformats/cid'
import type { FetchRow, StatusChange } from '../catalogue/fetches.ts'
import type { PlacementRow } from '../catalogue/placements.ts'
import { type BlockSource, CheckedSource, FirstSource } from '../content/block-source.ts'
import { SharedBlocks } from '../content/dag/fetch.ts'
import { cidOf, type DagIdentity } from '../ipld/cid.ts'
import { Announcer } from '../pins/announcer.ts'
import { FetchScheduler } from '../pins/fetch/fetch-scheduler.ts'
import { NetworkPinner } from '../pins/fetch/network-pinner.ts'
import { NodeFetcher } from '../pins/fetch/node-fetcher.ts'
import { PinList } from '../pins/lists/pin-list.ts'
import { PinStatusView } from '../pins/lists/pin-status-view.ts'
import { SearchRoom } from '../pins/lists/search-room.ts'
import { PinChanges } from '../pins/pin-changes.ts'
import { PinCommit } from '../pins/pin-commit.ts'
import { PinService } from '../pins/pin-service.ts'
import { PinTargets } from '../pins/pin-targets.ts'
import type { PinRecord } from '../pins/pin-types.ts'
import { Pinner } from '../pins/pinner.ts'
import { PlacementRunner } from '../pins/placement/placement-runner.ts'
import { AccountRemoval } from '../pins/removal/account-removal.ts'
import { ExpirySweeper } from '../pins/removal/expiry-sweeper.ts'
import { Timelock } from '../pins/removal/timelock.ts'
import { CarImporter } from '../pins/upload/car-importer.ts'
import { UploadStaging } from '../pins/upload/upload-staging.ts'
import { Uploader } from '../pins/upload/uploader.ts'
import type { AccessModule } from './access-module.ts'
import type { ClustersModule } from './clusters-module.ts'
import { memoryShares } from './memory-shares.ts'
import type { NetworkModule } from './network-module.ts'
import type { NodesModule } from './nodes-module.ts'
import { ownAccountOf } from './own-account.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

/** Maximum number of concurrent block requests for one DAG. */
const BLOCKS_AT_ONCE = 32

export type PinsModule = ReturnType<typeof makePins>

interface Below {
  storage: StorageModule
  access: AccessModule
  clusters: ClustersModule
  network: NetworkModule
  nodes: NodesModule
}

type Shared = Below & { changes: PinChanges; publishChanges: (made: readonly StatusChange[]) => void }

export function makePins(setup: Setup, below: Below) {
  const { clock, logger, events, activity } = setup
  const { storage, network } = below
  const { records, bulk } = storage.catalogue
  const changes = new PinChanges(events)
  const publishChanges = (made: readonly StatusChange[]): void => {
    for (const { record, from } of made) changes.changed(record, from)
  }
  const shared = { ...below, changes, publishChanges }
  const placements = placementRunner(setup, shared)
  const scheduler = fetchScheduler(setup, shared, placements)
  const leaveFetch = (fetchId: number): void => void scheduler.left(fetchId)
  const sweeper = new ExpirySweeper({ records, clock, changes, leaveFetch, logger })
  const makers = pinMakers(setup, shared, scheduler)
  const ownAccount = ownAccountOf(setup, below.access)
  const service = new PinService({ ...makers, sweeper, scheduler, records, bulk, clock, changes, activity, ownAccount })
  const accountRemoval = new AccountRemoval({
    accounts: storage.catalogue.accounts,
    bulk,
    pins: service,
    clock,
    logger,
  })
  const { node } = network
  const announcer = node?.hasRouters
    ? new Announcer({
        announcing: node,
        roots: storage.heldRoots,
        announcements: storage.announcements,
        served: network.blocks,
        clock,
        logger,
      })
    : null
  return {
    service,
    scheduler,
    backendOf: makers.backendOf,
    targets: makers.targets,
    wakeSweeper: () => sweeper.wake(),
    changes,
    publishChanges,
    accountRemoval,
    announcements: () => announcer?.backlog() ?? null,
    wakePlacements: () => placements.wake(),
    start: async (): Promise<void> => {
      sweeper.start()
      below.access.accounts.whenDeleted(() => accountRemoval.wake())
      accountRemoval.wake()
      changes.observe({ changed: record => below.clusters.forgetPeers(record) })
      runPlacements(changes, placements)
      if (announcer !== null) await announceChanges(changes, announcer)
      // If another node removes a record, this node emits no event for the record.
      if (announcer !== null) storage.work?.gone(dag => announcer.gone(cidOf(dag)))
      const { member } = below.nodes
      const fetcher = member === null ? node : new NodeFetcher(node, cid => foundBeside(cid, below))
      if (fetcher !== null) await scheduler.start(fetcher)
    },
    stop: async (): Promise<void> => {
      await scheduler.stop()
      await placements.stop()
      announcer?.stop()
      await accountRemoval.stop()
      await sweeper.stop()
    },
  }
}

/** Finds content on another node, or in a cluster on another system. */
async function foundBeside(cid: CID, { nodes, clusters }: Below): Promise<{ source: BlockSource } | null> {
  const found = (await nodes.member?.find(cid)) ?? null
  if (found !== null) return found
  for (const id of clusters.remote.keys()) {
    const source = clusters.registry.readerOf(id)
    const isThere = await source?.read(cid).then(
      () => true,
      () => false,
    )
    if (source !== null && isThere === true) return { source }
  }
  return null
}

function pinMakers({ clock, config, memoryBytes }: Setup, shared: Shared, scheduler: FetchScheduler) {
  const { storage, access, clusters, network, nodes, changes } = shared
  const { catalogue, heldRoots: held } = storage
  const { records, fetches } = catalogue
  const { registry } = clusters
  const external = {
    isExternal: (id: string) => (registry.nodeOf(id) === null ? registry.isExternal(id) : null),
    peersOf: async (id: string, dag: DagIdentity) => {
      const node = registry.nodeOf(id)
      return node === null ? clusters.peersOf(id, dag) : ((await nodes.member?.peersOf(node, id, dag)) ?? null)
    },
  }
  const { accounts, plans } = access
  const timelock = new Timelock()
  const targets = new PinTargets({ accounts, plans, clusters: registry, timelock, clock })
  const leaveFetch = (fetchId: number): Promise<void> => scheduler.left(fetchId)
  const commit = new PinCommit({ clusters: registry, records, clock, changes, leaveFetch })
  const staging = new UploadStaging(registry, targets, records, catalogue.keys, clock)
  const { findTimeoutSeconds, waitSeconds, maxBlocks, maxDepth } = config.pin
  const times = { findMs: findTimeoutSeconds * 1_000, waitMs: waitSeconds * 1_000 }
  const fetcher = network.node
  const networkPinner = new NetworkPinner({ scheduler, fetches, records, clock, changes, times, fetcher })
  const backendOf = (clusterId: string): number | null =>
    registry.nodeOf(clusterId) !== null || registry.absent.includes(clusterId) ? null : registry.backendOf(clusterId).id
  return {
    backendOf,
    targets,
    timelock,
    uploader: new Uploader({ clusters: registry, commit, staging, importRoots: storage.importRoots }),
    carImporter: new CarImporter({
      clusters: registry,
      staging,
      commit,
      held,
      scheduler,
      clock,
      bounds: { maxBlocks, maxDepth },
    }),
    pinner: new Pinner({
      clusters: registry,
      targets,
      commit,
      held,
      network: networkPinner,
      clock,
      others: async cid => nodes.member?.find(cid) ?? null,
      maxBlocks,
    }),
    lists: new PinList({ targets, catalogue, clock, room: new SearchRoom(memoryShares(memoryBytes).searches, clock) }),
    statuses: new PinStatusView(catalogue, scheduler, clock, external),
  }
}

function fetchScheduler(
  { clock, logger, metrics, config }: Setup,
  { storage, access, clusters, publishChanges }: Shared,
  runner: PlacementRunner,
) {
  const { accounts, records, fetches, placements } = storage.catalogue
  const { pin } = config
  const attempts = {
    // A deleted account has no plan and therefore no limits. Its records will be removed soon.
    limitsOf: async (accountId: string) => access.plans.get((await accounts.get(accountId))?.plan ?? ''),
    backendOf: (backendId: number) => clusters.registry.backends.find(({ id }) => id === backendId),
    records,
    fetches,
    clock,
    shared: new SharedBlocks(),
    bounds: {
      maxBlocks: pin.maxBlocks,
      maxDepth: pin.maxDepth,
      concurrency: BLOCKS_AT_ONCE,
    },
    times: { stallMs: pin.stallSeconds * 1_000, attemptMs: pin.attemptSeconds * 1_000 },
    onChanges: publishChanges,
    isHere: (fetch: FetchRow) => storage.heldRoots.find(fetch.backendId, fetch) !== undefined,
    fetchingBackends: {
      of: (id: number) => clusters.fetchingBackends.get(id) ?? null,
      placements,
      wake: () => runner.wake(),
    },
  }
  return new FetchScheduler(attempts, logger, metrics)
}

function placementRunner({ clock, logger }: Setup, { storage, clusters, publishChanges }: Shared) {
  const parts = {
    backends: clusters.remote,
    // An external backend may have lost blocks. Another cluster of this node may still have these blocks.
    sourceOf: (backendId: number) => {
      const beside = clusters.registry.backends.flatMap(({ id, reader }) => {
        return id === backendId || reader === null ? [] : new CheckedSource(reader)
      })
      return new FirstSource([clusters.embeddedOf(backendId).reader, ...beside])
    },
    sizeOf: (row: PlacementRow) => storage.heldRoots.find(row.backendId, row)?.dagSize,
    fetchingBackends: clusters.fetchingBackends,
    placements: storage.catalogue.placements,
    clock,
    onChanges: publishChanges,
  }
  return new PlacementRunner(parts, logger)
}

function runPlacements(changes: PinChanges, runner: PlacementRunner): void {
  changes.wakes(runner)
  runner.wake()
}

async function announceChanges(changes: PinChanges, announcer: Announcer): Promise<void> {
  const pinned = (record: PinRecord): void => {
    if (record.status === 'pinned') announcer.pinned(record)
  }
  changes.observe({ created: pinned, changed: pinned, removed: record => announcer.removed(record) })
  await announcer.start()
}
