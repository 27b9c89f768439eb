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

/** Free pages of the database that one transaction gives back to the disk. */
const PAGES_AT_ONCE = 64

export type StorageModule = ReturnType<typeof makeStorage>

/** The opened stores, which it closes, with the ledger and the catalogue that are kept in them. */
export function makeStorage(setup: Setup, stores: Stores) {
  const { database } = stores
  const reserves = diskReserves(setup, stores)
  const writes = writeQueue(setup, stores, reserves)
  const elsewhere = new Set([...stores.remotes.keys()].flatMap(id => stores.ownBackends.get(id) ?? []))
  const blocks = new BlockTable(database)
  const roots = new RootTable(database)
  const holds = new Holds(database, roots)
  const claims = new Claims(database, blocks, writes)
  const tables = { roots, holds, blocks, claims }
  const { catalogue, census, signIn, credentialsVersion, versioned, work } = catalogueOf(
    stores,
    tables,
    writes,
    elsewhere,
  )
  return {
    ...stores,
    /** Backends that another node keeps. */
    elsewhere,
    catalogue,
    census,
    signIn,
    credentialsVersion,
    /** What follows here from what other nodes do; null without others. */
    work,
    /** Has another version as soon as a record may have changed; null where that cannot be told. */
    versioned,
    blocks,
    ledger: new Ledger({ claims, blocks, roots, holds, queue: writes }),
    heldRoots: new HeldRoots(roots, blocks, writes, new Set([...elsewhere, ...stores.absent])),
    verification: new VerificationTable(database, writes),
    clusterChecks: new ClusterCheckTable(database, writes),
    announcements: new Announcements(database, writes),
    withheld: new WithheldLedger(database, blocks, writes),
    reach: new ReachWalks(database, writes),
    /** Of the disks of the backends, by backend id. */
    reserves,
    /** Which blocks cannot be kept, and why, without paths; null if all can. */
    storageProblem: () => storageProblem(stores),
    /** Whether the disk has failed a write, so that nothing is written any more. */
    isBroken: (): boolean => writes.isBroken,
    /** Gives some free pages of the database back to the disk. Returns how many are left. */
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
  /** What other nodes have to know of who signs in; null where the catalogue is this node's own. */
  signIn: SharedSignIn | null
  credentialsVersion: () => number
  versioned: Stores['database'] | null
  work: NodeWork | null
}

/** Who wants what, where it is kept, and whether credentials may have been changed by others. */
function catalogueOf(
  { database, shared, sealing }: Stores,
  tables: { roots: RootTable; holds: Holds; blocks: BlockTable; claims: Claims },
  writes: WriteQueue,
  elsewhere: ReadonlySet<number>,
): CatalogueParts {
  const census = new CensusTable(database)
  if (shared === null) {
    const catalogue = { ...sqliteAccess(database, writes), ...sqliteContent(database, writes, tables, elsewhere) }
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
  const { content, work } = shared.content(ledger, elsewhere)
  return {
    catalogue: { ...shared.access, ...content },
    census: shared.census(census),
    signIn: shared.signIn(sealing),
    credentialsVersion: () => shared.changes.version(),
    // What others write there is not told here.
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
 * The queue of all writes to the database. On a full disk its log is first written from the start again, which needs no
 * room while the database has grown to its size, and then the ballast given up: so what frees room finds some.
 */
function writeQueue(
  { logger }: Setup,
  { database, checkpoints, logSync }: Stores,
  reserves: ReadonlyMap<number, DiskReserve>,
): WriteQueue {
  return new WriteQueue(database, {
    checkpoints,
    logSync,
    onBroken: err => logger.error({ err }, 'the disk has failed a write: nothing more is written'),
    makeRoom: [
      () => database.restartLog(),
      async () => {
        const isGivenUp = (await reserves.get(DEFAULT_BACKEND_ID)?.giveUpBallast()) ?? false
        if (!isGivenUp) return false
        logger.warn({}, 'the disk is full: the ballast is given up')
        // Before the log grows into it: a log that has nowhere to go stays, and with it a disk too full to start on.
        database.restartLog()
        return true
      },
    ],
  })
}
