import { HoldfastError } from '../../src/domain/errors.ts'
import type { Postgres } from './postgres.ts'
import { hasVisibility } from './schema-visibility.ts'

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
