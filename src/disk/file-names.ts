/** Name of the SQLite database in a data directory. */
export const DATABASE = 'holdfast.db'
/** Name of the database during a restore. The last step of the restore renames it to {@link DATABASE}. */
export const RESTORING = 'holdfast.db.restored'
/** Name of the file with the key that encrypts secrets in the database. */
export const DATA_KEY = 'data.key'
/** Name of the file with the keys that sign sessions. */
export const SECRETS = 'secrets'
export const TAKEDOWNS = 'takedowns.deny'
/** Name of a file that reserves disk space. The node deletes it when the disk is full. */
export const BALLAST = 'ballast'
/** Name of the directory beside each `blocks/` for damaged blocks and foreign files. */
export const QUARANTINE = 'quarantine'
