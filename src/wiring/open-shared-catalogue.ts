import { randomBytes, randomUUID } from 'node:crypto'
import type { CatalogueDatabase } from '../catalogue/catalogue-adapter.ts'
import { loadSystem } from '../catalogue/catalogue-system.ts'
import type { OutageReport, SharedCatalogue } from '../catalogue/shared-catalogue.ts'
import { HoldfastError } from '../domain/errors.ts'
import { featureTables } from '../features/feature-list.ts'
import { catalogueNode, formerNodes, nameAgain } from '../ledger/catalogue-node.ts'
import { CataloguePastTable } from '../ledger/catalogue-past.ts'
import { checkDataKey, openDataKey, openFleetKey } from '../storage/data-key.ts'
import type { Database } from '../storage/database.ts'
import type { Setup } from './setup.ts'

export const FLEET_SECRET = 'fleet secret'
const SECRET_BYTES = 32

/**
 * Returns null if the catalogue is in SQLite.
 * @throws HoldfastError `CONFIG_INVALID` if the configuration and the data directory name different catalogues
 */
export async function openSharedCatalogue(
  { dataDir, config, clusters, clock, logger, catalogueDatabase }: Setup,
  database: Database,
): Promise<SharedCatalogue | null> {
  const known = checkCatalogue(database, catalogueDatabase)
  if (catalogueDatabase === null) return null
  const make = (): string => {
    if (catalogueNode(database) === known) nameAgain(database, randomUUID())
    return catalogueNode(database) ?? ''
  }
  const outages: OutageReport = {
    began: reason => logger.warn({ reason }, 'the connection to the catalogue was lost'),
    ended: outage => logger.warn(outage, 'the catalogue answers again'),
  }
  const openKey = (expected: string | null): string => openFleetKey(database, dataDir, expected)
  const newSecret = (): Uint8Array => openDataKey(database, dataDir).seal(randomBytes(SECRET_BYTES), FLEET_SECRET)
  const past = new CataloguePastTable(database)
  const onProblem = (problem: string): void =>
    logger.error({ problem }, 'the catalogue has changed unexpectedly: run reconcile --dry-run')
  const onRefusal = (problem: string): void =>
    logger.error({ problem }, 'this process may not run as its node: it writes nothing, stop it')
  const onPlainTraffic = (nodes: readonly string[]): void =>
    logger.warn({ nodes }, 'private content goes to these nodes without TLS: give them an https URL')
  const { url, adapter } = catalogueDatabase
  const system = await loadSystem(adapter)
  return system.open(
    {
      url,
      clock,
      outages,
      openKey,
      newSecret,
      past,
      onProblem,
      onRefusal,
      onPlainTraffic,
      tables: featureTables,
      ...placeOf({ config, clusters }),
    },
    { ...nameOf(database, config), make },
  )
}

function placeOf({ config, clusters }: Pick<Setup, 'config' | 'clusters'>) {
  const nodes = clusters.flatMap(({ id, node }) => (node === undefined ? [] : [[id, node]]))
  const sets = clusters.flatMap(({ id, nodes: members = [], copies = 1 }) =>
    copies === 1 ? [] : [[id, { nodes: members, copies }]],
  )
  return {
    address: config.node ?? null,
    clusterNodes: Object.fromEntries(nodes),
    copySets: Object.fromEntries(sets),
    expected: config.node?.expected ?? [],
  }
}

function nameOf(database: Database, config: Setup['config']) {
  return { known: catalogueNode(database), former: formerNodes(database), isAsNew: config.node?.asNew === true }
}

/** Checks whether the database would refuse the start of this node. @throws HoldfastError as the start does */
export async function checkSharedCatalogue(setup: Setup, database: Database): Promise<void> {
  const { dataDir, config, catalogueDatabase } = setup
  if (catalogueDatabase === null) return
  const { url, adapter } = catalogueDatabase
  const system = await loadSystem(adapter)
  const checkKey = (expected: string | null): void => checkDataKey(database, dataDir, expected)
  const name = nameOf(database, config)
  await system.check({ url, checkKey, ...placeOf(setup) }, { ...name, make: () => name.known ?? '' })
}

/**
 * Checks that the configuration and the data directory name the same catalogue. Returns the node of the directory in
 * PostgreSQL; null if it has none.
 * @throws HoldfastError `CONFIG_INVALID`
 */
export function checkCatalogue(database: Database, configured: CatalogueDatabase | null): string | null {
  const known = catalogueNode(database)
  if (configured === null && known !== null) {
    throw new HoldfastError(
      'CONFIG_INVALID',
      'database: the catalogue of this data directory is in PostgreSQL: set its URL',
    )
  }
  const hasAccounts = (): boolean => database.prepare('SELECT 1 FROM accounts LIMIT 1').get() !== undefined
  if (configured !== null && known === null && hasAccounts()) {
    throw new HoldfastError(
      'CONFIG_INVALID',
      'database: the data directory has accounts of its own: move them with "holdfast catalogue move", or use an empty directory',
    )
  }
  return known
}
