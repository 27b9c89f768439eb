import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import type { EngineOptions } from '../api.ts'
import { loadSystem } from '../catalogue/catalogue-system.ts'
import { MemoryBudget } from '../concurrency/capacity/memory-budget.ts'
import { answerCalls } from '../concurrency/port-calls.ts'
import { Leases } from '../content/leases.ts'
import { KnownRevision } from '../content/revision-log.ts'
import { birthOf } from '../disk/data-directory.ts'
import { DATABASE, TAKEDOWNS } from '../disk/file-names.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import type { ReadingData } from '../gateway/source/shared-reading.ts'
import { errorResponse } from '../http/error-response.ts'
import { type BackendRow, backends } from '../ledger/backend-table.ts'
import { DEFAULT_BACKEND_ID } from '../ledger/blocks.ts'
import { Database } from '../storage/database.ts'
import { gatewayWithin, memoryShares } from './memory-shares.ts'
import type { Reading } from './open-reading.ts'
import { readingIn } from './reading.ts'
import { type Setup, setupOf } from './setup.ts'

/** The last start, if the node has joined with this file, and changes have waited for the node since. */
const IS_PLAIN = `SELECT 1 FROM catalogue_runs
  WHERE rowid = (SELECT MAX(rowid) FROM catalogue_runs) AND is_joined = 1 AND follows = 1 AND birth = ?`

/** The content that a server serves while the database of its catalogue is out, before its engine has started. */
export interface OutageReading extends Reading {
  /** Answers 503. */
  readonly api: Reading['gateway']
  /** Returns whether the database answers. */
  isOver(): Promise<boolean>
}

/**
 * Opens the public content of this node for reading while the database of the catalogue does not answer. All other
 * requests get the status 503. Returns null if the database answers, or if this node may lack a change that it has
 * confirmed.
 *
 * @throws HoldfastError `DATA_DIR_UNUSABLE`
 */
export async function openOutageReading(options: EngineOptions): Promise<OutageReading | null> {
  const setup = setupOf(options)
  const isOver = () => isReachable(setup)
  if (await isOver()) return null
  const file = join(setup.dataDir, DATABASE)
  const database = new Database(file, { readonly: true })
  if (database.prepare<[string]>(IS_PLAIN).get(birthOf(file)) === undefined) {
    database.close()
    return null
  }
  const { port1, port2 } = new MessageChannel()
  const away = (): HoldfastError => new HoldfastError('UNAVAILABLE', 'the catalogue database cannot be reached')
  const refuse = (): never => {
    throw away()
  }
  answerCalls(port1, { readiness: () => 'ok', read: refuse, 'nodes open': refuse, 'own peer': () => null })
  port1.unref()
  const reading = readingIn({ data: dataOf(setup, database, file), port: port2 }, setup, database)
  return { ...reading, api: async () => errorResponse(away(), ''), isOver }
}

/** Returns whether the catalogue's database answers. True without a database. */
async function isReachable({ catalogueDatabase }: Setup): Promise<boolean> {
  if (catalogueDatabase === null) return true
  try {
    const system = await loadSystem(catalogueDatabase.adapter)
    await (await system.connect(catalogueDatabase.url)).close()
    return true
  } catch (error) {
    return !isHoldfastError(error, 'UNAVAILABLE')
  }
}

function dataOf(
  { dataDir, config, ownClusters, memoryBytes, clock }: Setup,
  database: Database,
  file: string,
): ReadingData {
  const shares = memoryShares(memoryBytes)
  const external = new Set(ownClusters.flatMap(({ id, backend }) => (backend === undefined ? [] : id)))
  const isCache = ({ clusterIds }: BackendRow): boolean => clusterIds.split(' ').some(id => external.has(id))
  const others = backends(database).map(row => ({ id: row.id, dataDir: isCache(row) ? null : row.dataDir }))
  return {
    database: file,
    // The ledger has no fetches of a shared catalogue, so the reader asks nobody about them.
    hasFetches: true,
    backends: [{ id: DEFAULT_BACKEND_ID, dataDir }, ...others],
    fallbackBackends: others.flatMap(({ id, dataDir }) => (dataDir === null ? id : [])),
    takedowns: { path: join(dataDir, TAKEDOWNS), published: new BigInt64Array(1) },
    revision: new KnownRevision().memory,
    leases: new Leases().share().memory,
    memory: MemoryBudget.of(shares.answers, clock).shareFor(1),
    gateway: gatewayWithin(shares, config),
    trustedProxies: config.trustedProxies,
    hasEgressCap: false,
    hasNodes: true,
  }
}
