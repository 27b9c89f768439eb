import { HoldfastError } from '../../../src/domain/errors.ts'
import { isLoopbackName } from '../../../src/domain/host-name.ts'
import type { Postgres } from '../database/postgres.ts'
import { hasVisibility } from '../schema/schema-visibility.ts'

/** Returns the ids of nodes whose traffic has no TLS, if any content is private. Nodes on a loopback address need none. */
export async function plainNodes(database: Postgres): Promise<string[]> {
  const text = `SELECT id, url FROM nodes
    WHERE url LIKE 'http:%' AND EXISTS (SELECT 1 FROM roots WHERE owner <> 0) ORDER BY number`
  const nodes = await database.reading.all<{ id: string; url: string }>(text, [])
  return nodes.filter(({ url }) => !isLoopbackName(new URL(url).hostname)).map(({ id }) => id)
}

/** Databases that are known to have private records enabled. */
const enabled = new WeakSet<Postgres>()

/** @throws HoldfastError `CONFLICT` for the number of an account, until private records are enabled in the database */
export async function checkPrivate(database: Postgres, owners: readonly number[]): Promise<void> {
  if (enabled.has(database) || owners.every(owner => owner === 0)) return
  if (!(await hasVisibility(database.reading))) {
    const remedy = 'run holdfast visibility enable once all nodes have this version'
    throw new HoldfastError('CONFLICT', `visibility: the database takes no private records yet; ${remedy}`)
  }
  enabled.add(database)
}
