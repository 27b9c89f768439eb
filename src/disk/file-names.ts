/** What the files of a data directory are called. */
export const DATABASE = 'holdfast.db'
/** The database of a restore that has not ended; it becomes {@link DATABASE} last. */
export const RESTORING = 'holdfast.db.restored'
/** The key that seals secrets in the stores. */
export const DATA_KEY = 'data.key'
/** The keys that sign sessions. */
export const SECRETS = 'secrets'
export const TAKEDOWNS = 'takedowns.deny'
/** Room to give up on a full disk. */
export const BALLAST = 'ballast'
/** What was damaged, and what lay where it should not, in each directory that blocks are kept in. */
export const QUARANTINE = 'quarantine'
