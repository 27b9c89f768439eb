import type { CoreCatalogue } from '../catalogue/catalogue.ts'
import type { Census } from '../catalogue/census.ts'
import type { Copies } from '../catalogue/copies.ts'
import type { Offers } from '../catalogue/offers.ts'
import type { RuleHost } from '../catalogue/rules/access-stores.ts'
import { purgeTables } from '../catalogue/rules/account-rules.ts'
import type { NodeWork } from '../catalogue/shared-catalogue.ts'
import type { SharedSignIn } from '../catalogue/sign-in.ts'
import { CensusTable } from '../catalogue/sqlite/census-table.ts'
import { sqliteAccess } from '../catalogue/sqlite/sqlite-access.ts'
import { sqliteContent } from '../catalogue/sqlite/sqlite-content.ts'
import { DiskReserve } from '../content/disk-reserve.ts'
import { type AnswerVersions, ownVersions } from '../contract/remembered-answers.ts'
import { featureTables } from '../features/feature-list.ts'
import { Announcements } from '../ledger/announcements.ts'
import { BlockTable } from '../ledger/block-table.ts'
import { DEFAULT_BACKEND_ID } from '../ledger/blocks.ts'
import { CatalogueHolds } from '../ledger/catalogue-holds.ts'
import { Claims } from '../ledger/claims.ts'
import { ClusterCheckProgress } from '../ledger/cluster-check-progress.ts'
import { HeldRoots } from '../ledger/held-roots.ts'
import { Holds } from '../ledger/holds.ts'
import { Ledger } from '../ledger/ledger.ts'
import { RootOwners } from '../ledger/root-owners.ts'
import { RootTable } from '../ledger/root-table.ts'
import { VerificationProgress } from '../ledger/verification-progress.ts'
import { WriteQueue } from '../storage/write-queue.ts'
import type { Setup } from './setup.ts'
import type { Stores } from './stores.ts'

/** Maximum number of free pages that one transaction gives back to the file system. */
const PAGES_AT_ONCE = 64

export type StorageModule = ReturnType<typeof makeStorage>

/** Creates the ledger and the catalogue. Closes the stores when the module stops. */
export function makeStorage(setup: Setup, stores: Stores) {
  const { database } = stores
  const reserves = diskReserves(setup, stores)
  const writes = writeQueue(setup, stores, reserves)
  const externalBackends = new Set([...stores.remotes.keys()].flatMap(id => stores.ownBackends.get(id) ?? []))
  const blocks = new BlockTable(database)
  const roots = new RootTable(database)
  const holds = new Holds(database, roots)
  const claims = new Claims(database, blocks, writes)
  const tables = { roots, holds, blocks, claims }
  const { catalogue, rules, census, signIn, credentialsVersion, versions, ...parts } = catalogueOf(
    stores,
    tables,
    writes,
    externalBackends,
  )
  return {
    ...stores,
    externalBackends,
    catalogue,
    /** Runs the rules of features. */
    rules,
    /** Removes some rows of an account that is marked as deleted. Returns whether there may be more. */
    purge: async (id: string, limit: number): Promise<boolean> =>
      (await catalogue.accounts.purge(id, limit)) || purgeTables(rules.driver, featureTables, { id, limit }),
    census,
    signIn,
    credentialsVersion,
    ...parts,
    /** Versions of the accounts' lists and statuses, by which answers are cached. */
    versions,
    blocks,
    holds,
    ledger: new Ledger({ claims, blocks, roots, holds, queue: writes }),
    heldRoots: new HeldRoots(roots, blocks, new Set([...externalBackends, ...stores.absent])),
    verification: new VerificationProgress(database, writes),
    clusterChecks: new ClusterCheckProgress(database, writes),
    announcements: new Announcements(database, writes),
    writes,
    reserves,
    /** Returns which block directory is unusable and why. */
    storageProblem: () => storageProblem(stores),
    /** Returns whether the node lacks a block directory, and cannot read its content. */
    isStorageGone: () => [...stores.blockFiles.values()].some(({ watch }) => watch.isGone),
    /** After a failed write to the disk, the engine writes nothing more. */
    isBroken: (): boolean => writes.isBroken,
    /** Returns the number of free database pages left. */
    giveBackPages: () => writes.run(() => database.giveBack(PAGES_AT_ONCE), { durable: false }),
    start: async (): Promise<void> => {
      await catalogue.records.finishRemovals()
      for (const reserve of reserves.values()) reserve.start()
      for (const { watch } of stores.blockFiles.values()) watch.start(setup.clock)
    },
    unsettled: () => writes.settled().then(() => []),
    stop: async (): Promise<void> => {
      for (const { watch } of stores.blockFiles.values()) await watch.stop()
      for (const reserve of reserves.values()) await reserve.stop()
      await writes.settled()
      await stores.close()
    },
  }
}

interface CatalogueParts {
  catalogue: CoreCatalogue
  rules: RuleHost
  census: Census
  /** Null if the catalogue is in SQLite. */
  signIn: SharedSignIn | null
  credentialsVersion: () => number
  versions: AnswerVersions
  /** Work that other nodes queue for this node. Null for a single node. */
  work: NodeWork | null
  offers: Offers | null
  /** Returns null if no cluster wants more than one copy, and no node retires. */
  copies: () => Promise<Copies | null>
  /** Returns which holds of the shared catalogue keep complete content on this node, without known damage. */
  soundHolds: (ids: readonly string[]) => string[]
}

function catalogueOf(
  { database, shared, sealing }: Stores,
  tables: { roots: RootTable; holds: Holds; blocks: BlockTable; claims: Claims },
  writes: WriteQueue,
  externalBackends: ReadonlySet<number>,
): CatalogueParts {
  const census = new CensusTable(database)
  if (shared === null) {
    const { rules, ...access } = sqliteAccess(database, writes)
    const catalogue = { ...access, ...sqliteContent(database, writes, tables, externalBackends) }
    return {
      catalogue,
      rules,
      census,
      signIn: null,
      credentialsVersion: () => database.dataVersion(),
      versions: ownVersions(database, catalogue.records),
      work: null,
      offers: null,
      copies: async () => null,
      soundHolds: () => [],
    }
  }
  const ledger = new CatalogueHolds({
    ...tables,
    owners: new RootOwners(database, { ...tables, queue: writes }),
    queue: writes,
  })
  const { content, work, offers, copies } = shared.content(ledger, externalBackends)
  const { rules, ...access } = shared.access
  return {
    catalogue: { ...access, ...content },
    rules,
    census: shared.census(census),
    signIn: shared.signIn(sealing),
    credentialsVersion: () => shared.changes.version(),
    versions: shared.versions,
    work,
    offers,
    copies,
    soundHolds: ids => ids.filter(id => ledger.isSound(id)),
  }
}

function storageProblem({ blockFiles, ownBackends }: Stores): string | null {
  for (const [backendId, { watch }] of blockFiles) {
    if (watch.problem === null) continue
    const clusters = [...ownBackends].flatMap(([cluster, id]) => (id === backendId ? cluster : []))
    const whose = clusters.length === 0 ? 'the node' : `the cluster ${clusters.join(' and ')}`
    return `the directory of blocks of ${whose} ${watch.problem}`
  }
  return null
}

function diskReserves({ config, clock }: Setup, { blockFiles }: Stores): ReadonlyMap<number, DiskReserve> {
  const { reserveBytes } = config.disk
  const reserves = [...blockFiles].map(([backendId, { dataDir, fileSystem: files, watch }]) => {
    const hasBallast = backendId === DEFAULT_BACKEND_ID
    return [backendId, new DiskReserve({ dataDir, files, clock, reserveBytes, hasBallast, watch })] as const
  })
  return new Map(reserves)
}

/**
 * Creates the queue for all writes to the database. If the disk is full, first restarts the write-ahead log to reuse
 * its space, then deletes the ballast file.
 */
function writeQueue(
  { logger }: Setup,
  { database, checkpoints, logSync }: Stores,
  reserves: ReadonlyMap<number, DiskReserve>,
): WriteQueue {
  return new WriteQueue(database, {
    checkpoints,
    logSync,
    onBroken: err => logger.error({ err }, 'a write to the disk failed: nothing more is written'),
    makeRoom: [
      () => database.restartLog(),
      async () => {
        const isGivenUp = (await reserves.get(DEFAULT_BACKEND_ID)?.giveUpBallast()) ?? false
        if (!isGivenUp) return false
        logger.warn({}, 'the disk is full: deleted the ballast file')
        // Restart the log before it grows into the freed space. Without free space, no checkpoint can run, and the next
        // start would fail.
        database.restartLog()
        return true
      },
    ],
  })
}
