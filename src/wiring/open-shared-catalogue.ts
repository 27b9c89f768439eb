import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { CatalogueDatabase } from '../catalogue/catalogue-adapter.ts'
import { loadSystem } from '../catalogue/catalogue-system.ts'
import type { OutageReport, SharedCatalogue } from '../catalogue/shared-catalogue.ts'
import { birthOf } from '../disk/data-directory.ts'
import { DATABASE } from '../disk/file-names.ts'
import { featureTables } from '../features/feature-list.ts'
import { catalogueNode, formerNodes, nameAgain } from '../ledger/catalogue-node.ts'
import { CataloguePastTable } from '../ledger/catalogue-past.ts'
import { checkDataKey, openDataKey, openFleetKey } from '../storage/data-key.ts'
import type { Database } from '../storage/database.ts'
import type { Setup } from './setup.ts'
import { FLEET_SECRET } from './used-catalogue.ts'

const SECRET_BYTES = 32

/** @throws HoldfastError `CONFIG_INVALID`, and the errors of `CatalogueSystem.open` */
export async function openSharedCatalogue(
  { dataDir, config, clusters, clock, logger }: Setup,
  database: Database,
  { url, adapter }: CatalogueDatabase,
): Promise<SharedCatalogue> {
  const known = catalogueNode(database)
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
  const past = new CataloguePastTable(database, birthOf(join(dataDir, DATABASE)))
  const onProblem = (problem: string): void =>
    logger.error({ problem }, 'the catalogue has changed unexpectedly: run reconcile --dry-run')
  const onRefusal = (problem: string): void =>
    logger.error({ problem }, 'this process may not run as its node: it writes nothing, stop it')
  const onPlainTraffic = (nodes: readonly string[]): void =>
    logger.warn({ nodes }, 'private content goes to these nodes without TLS: give them an https URL')
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
