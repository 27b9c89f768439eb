import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Census } from '../catalogue/census.ts'
import type { NodeWork } from '../catalogue/shared-catalogue.ts'
import type { SharedSignIn } from '../catalogue/sign-in.ts'
import { CensusTable } from '../catalogue/sqlite/census-table.ts'
import { sqliteAccess } from '../catalogue/sqlite/sqlite-access.ts'
import { sqliteContent } from '../catalogue/sqlite/sqlite-content.ts'
import { DiskReserve } from '../content/disk-reserve.ts'
import { Announcements } from '../ledger/announcements.ts'
import { BlockTable } from '../ledger/block-table.ts'
import { DEFAULT_BACKEND_ID } from '../ledger/blocks.ts'
import { CatalogueHolds } from '../ledger/catalogue-holds.ts'
import { Claims } from '../ledger/claims.ts'
import { ClusterCheckTable } from '../ledger/cluster-check-table.ts'
import { HeldRoots } from '../ledger/held-roots.ts'
import { Holds } from '../ledger/holds.ts'
import { Ledger } from '../ledger/ledger.ts'
import { ReachWalks } from '../ledger/reach-walks.ts'
import { RootTable } from '../ledger/root-table.ts'
import { VerificationTable } from '../ledger/verification-table.ts'
import { WithheldLedger } from '../ledger/withheld.ts'
import { WriteQueue } from '../storage/write-queue.ts'
import type { Setup } from './setup.ts'
import type { Stores } from './stores.ts'

/** Free database pages returned to the disk in one transaction. */
const PAGES_AT_ONCE = 64

export type StorageModule = ReturnType<typeof makeStorage>

/** Makes the ledger and the catalogue on the opened stores. Stopping it closes the stores. */
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
  const { catalogue, census, signIn, credentialsVersion, versioned, work } = catalogueOf(
    stores,
    tables,
    writes,
    externalBackends,
  )
  return {
    ...stores,
    /** Numbers of external backends. */
    externalBackends,
    catalogue,
    census,
    signIn,
    credentialsVersion,
    /** Work that other nodes leave for this one; null for a single node. */
    work,
    /** Store whose version changes with every change of a record; null if other nodes may write too. */
    versioned,
    blocks,
    ledger: new Ledger({ claims, blocks, roots, holds, queue: writes }),
    heldRoots: new HeldRoots(roots, blocks, writes, new Set([...externalBackends, ...stores.absent])),
    verification: new VerificationTable(database, writes),
    clusterChecks: new ClusterCheckTable(database, writes),
    announcements: new Announcements(database, writes),
    withheld: new WithheldLedger(database, blocks, writes),
    reach: new ReachWalks(database, writes),
    /** Free-space reserves of the disks, by backend id. */
    reserves,
    /** Returns which block directory is unusable, and why, without its path; null if all work. */
    storageProblem: () => storageProblem(stores),
    /** True if a write to the disk has failed. After that nothing is written. */
    isBroken: (): boolean => writes.isBroken,
    /** Returns some free pages of the database to the disk. Returns the number left. */
    giveBackPages: () => writes.run(() => database.giveBack(PAGES_AT_ONCE), { durable: false }),
    start: async (): Promise<void> => {
      await catalogue.records.finishRemovals()
      for (const reserve of reserves.values()) reserve.start()
    },
    stop: async (): Promise<void> => {
      for (const reserve of reserves.values()) await reserve.stop()
      await writes.settled()
      await stores.close()
    },
  }
}

interface CatalogueParts {
  catalogue: Catalogue
  census: Census
  /** Sign-in state shared with other nodes; null if the catalogue is SQLite. */
  signIn: SharedSignIn | null
  credentialsVersion: () => number
  versioned: Stores['database'] | null
  work: NodeWork | null
}

/** Makes the catalogue: SQLite, or PostgreSQL shared with other nodes. */
function catalogueOf(
  { database, shared, sealing }: Stores,
  tables: { roots: RootTable; holds: Holds; blocks: BlockTable; claims: Claims },
  writes: WriteQueue,
  externalBackends: ReadonlySet<number>,
): CatalogueParts {
  const census = new CensusTable(database)
  if (shared === null) {
    const catalogue = {
      ...sqliteAccess(database, writes),
      ...sqliteContent(database, writes, tables, externalBackends),
    }
    return {
      catalogue,
      census,
      signIn: null,
      credentialsVersion: () => database.dataVersion(),
      versioned: database,
      work: null,
    }
  }
  const ledger = new CatalogueHolds({ ...tables, queue: writes })
  const { content, work } = shared.content(ledger, externalBackends)
  return {
    catalogue: { ...shared.access, ...content },
    census: shared.census(census),
    signIn: shared.signIn(sealing),
    credentialsVersion: () => shared.changes.version(),
    // Other nodes' writes do not change the version of the local database.
    versioned: null,
    work,
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
 * Makes the queue of all writes to the database. On a full disk it first restarts the write-ahead log, which reuses its
 * space. If that is not enough, it deletes the ballast file to make room for deletions.
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
        // Restart the log before it grows into the freed space. A log without room cannot be checkpointed, and the next
        // start would fail.
        database.restartLog()
        return true
      },
    ],
  })
}
