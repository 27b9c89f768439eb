/** Columns of a `BlockRow`. */
export const COLUMNS = 'b.id, b.size, b.state, b.inline'

export const FIND_BLOCK = `SELECT ${COLUMNS} FROM blocks b WHERE b.multihash = ? AND b.backend_id = ?`

/** SQL expression: the greatest id of the public roots whose owners wait for a comparison with the catalogue. */
export const LAST_UNCOMPARED = 'COALESCE((SELECT root_id FROM uncompared), 0)'

/** Maximum number of roots of a block that one search for a live root reads. */
export const ROOTS_LOOKED_AT = 256

/** Condition that a hold of the root `r` lets somebody read it at the time of the parameter. */
export const LIVE_ROOT = "r.state = 'complete' AND (r.live_until IS NULL OR r.live_until > ?)"
/** Condition that the owner of the root `r` is known. */
export const IS_COMPARED = `(r.owner <> 0 OR r.id > ${LAST_UNCOMPARED})`
