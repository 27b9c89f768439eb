import type { SharedPlace, SharedPlaces } from '../../../src/catalogue/fleet.ts'
import { type Possessor, PUBLIC } from '../../../src/ledger/possessor.ts'
import type { Postgres } from '../database/postgres.ts'
import { NODE_NUMBER } from './backends.ts'

const MOST = 16
/** Directories with a file that one search reads. Those whose records are removed, and can be restored, are among them. */
const MOST_DIRECTORIES = 1_000
const LIFE = `LATERAL (
  SELECT expires_at FROM records WHERE root_id = roots.id ORDER BY expires_at DESC LIMIT 1) AS life`
const PLACE = `roots.${NODE_NUMBER} AS node, life.expires_at AS "liveUntil", roots.owner, roots.codec`
const IS_ROOT = 'TRUE AS "isRoot"'
const IS_FILE = 'FALSE AS "isRoot"'
const PLACE_OF_COPY = `roots.${NODE_NUMBER} AS node, copies.ends AS "liveUntil", roots.owner, roots.codec`
const IS_KEPT = '(copies.ends IS NULL OR copies.ends > $2)'
const IS_LIVE = '(life.expires_at IS NULL OR life.expires_at > $2)'
const LIVE_RECORD = `${LIFE} WHERE ${IS_LIVE}`
const LIVE_COPY = `LATERAL (SELECT 1 FROM copies WHERE root_id = roots.id AND ${IS_KEPT} LIMIT 1) AS copy`

/**
 * SQL conditions on the owner of a root, each with an index of its own. Roots of other accounts, which may be many, are
 * in none of them.
 */
const IS_PUBLIC = (table: string) => `${table}.owner = 0`
const IS_OWN = (table: string) => `${table}.owner = $3 AND ${table}.owner <> 0`

function statementsFor(owners: ReadonlyArray<(table: string) => string>): { asRoot: string; asFile: string } {
  const asRoot = owners.flatMap(isOf => [
    `(SELECT ${PLACE}, ${IS_ROOT} FROM roots, ${LIFE}
      WHERE multihash = $1 AND ${isOf('roots')} AND ${IS_LIVE} LIMIT ${MOST})`,
    `(SELECT ${PLACE}, ${IS_ROOT} FROM roots JOIN offers ON offers.root_id = roots.id
      JOIN records AS life ON life.id = record_id
      WHERE roots.multihash = $1 AND ${isOf('roots')} AND ${IS_LIVE} LIMIT ${MOST})`,
    `(SELECT ${PLACE_OF_COPY}, ${IS_ROOT} FROM roots JOIN copies ON copies.root_id = roots.id
      WHERE roots.multihash = $1 AND ${isOf('roots')} AND ${IS_KEPT} LIMIT ${MOST})`,
  ])
  // PostgreSQL would plan a join with the files over all roots. A search ends with the first live ones.
  const ofFile = (isOf: (table: string) => string, isLive: string) => `roots.id = ANY(ARRAY(
        SELECT roots.id FROM (
          SELECT root_id AS id FROM root_files WHERE multihash = $1 AND ${isOf('root_files')} LIMIT ${MOST_DIRECTORIES}
        ) AS roots, ${isLive} LIMIT ${MOST}))
      AND ${isOf('roots')}`
  const asFile = owners.flatMap(isOf => [
    `SELECT ${PLACE}, ${IS_FILE} FROM roots, ${LIFE} WHERE ${ofFile(isOf, LIVE_RECORD)} AND ${IS_LIVE}`,
    `SELECT ${PLACE_OF_COPY}, ${IS_FILE} FROM roots JOIN copies ON copies.root_id = roots.id
      WHERE ${ofFile(isOf, LIVE_COPY)} AND ${IS_KEPT}`,
  ])
  return { asRoot: asRoot.join(' UNION ALL '), asFile: asFile.join(' UNION ALL ') }
}

const FOR_VISITORS = statementsFor([IS_PUBLIC])
const FOR_OWNER = statementsFor([IS_PUBLIC, IS_OWN])

/** Finds the nodes that have content: the root of a record, or a file listed below such a root. */
export class PostgresPlaces implements SharedPlaces {
  readonly #database: Postgres

  constructor(database: Postgres) {
    this.#database = database
  }

  /**
   * Finds a root, or a file in a directory, whose record is live. The root is public or of the possessor's owner. Finds
   * roots that a node offers, too.
   */
  async find(multihash: Uint8Array, { now, owner }: Possessor): Promise<SharedPlace[]> {
    const { reading } = this.#database
    const { asRoot, asFile } = owner === PUBLIC ? FOR_VISITORS : FOR_OWNER
    const params = owner === PUBLIC ? [multihash, now] : [multihash, now, owner]
    const found = await reading.all<SharedPlace>(asRoot, params)
    return found.length > 0 ? found : reading.all<SharedPlace>(asFile, params)
  }
}
