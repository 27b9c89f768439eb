/** Names of the files in a data directory. */
export const DATABASE = 'holdfast.db'
/** Database of an unfinished restore. The last step renames it to {@link DATABASE}. */
export const RESTORING = 'holdfast.db.restored'
/** Key that seals secrets in the stores. */
export const DATA_KEY = 'data.key'
/** Keys that sign sessions. */
export const SECRETS = 'secrets'
export const TAKEDOWNS = 'takedowns.deny'
/** Reserved space, deleted on a full disk. */
export const BALLAST = 'ballast'
/** Directory of damaged and stray files, beside each `blocks/`. */
export const QUARANTINE = 'quarantine'
