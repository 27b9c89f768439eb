import type { SharedPlace, SharedPlaces } from '../../src/catalogue/fleet.ts'
import type { Possessor } from '../../src/ledger/possessor.ts'
import { NODE_NUMBER } from './backends.ts'
import type { Postgres } from './postgres.ts'

const MOST = 16
const LIFE = `LATERAL (
  SELECT expires_at FROM records WHERE root_id = roots.id ORDER BY expires_at DESC LIMIT 1) AS life`
const PLACE = `roots.${NODE_NUMBER} AS node, life.expires_at AS "liveUntil"`
const IS_ROOT = 'TRUE AS "isRoot"'
const IS_FILE = 'FALSE AS "isRoot"'
const IS_POSSESSED = 'roots.owner IN (0, $3)'
const IS_LIVE = '(life.expires_at IS NULL OR life.expires_at > $2)'

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
    const asRoot = `
      (SELECT ${PLACE}, ${IS_ROOT} FROM roots, ${LIFE} WHERE multihash = $1 AND ${IS_POSSESSED} AND ${IS_LIVE} LIMIT ${MOST})
      UNION ALL
      (SELECT ${PLACE}, ${IS_ROOT} FROM roots JOIN offers ON offers.root_id = roots.id
         JOIN records AS life ON life.id = record_id WHERE roots.multihash = $1 AND ${IS_POSSESSED} AND ${IS_LIVE} LIMIT ${MOST})`
    const found = await reading.all<SharedPlace>(asRoot, [multihash, now, owner])
    if (found.length > 0) return found
    // PostgreSQL would plan a join with the files over all roots.
    const asFile = `SELECT ${PLACE}, ${IS_FILE} FROM roots, ${LIFE}
      WHERE roots.id = ANY(ARRAY(SELECT root_id FROM root_files WHERE multihash = $1 LIMIT ${MOST})) AND ${IS_POSSESSED} AND ${IS_LIVE}`
    return reading.all<SharedPlace>(asFile, [multihash, now, owner])
  }
}
