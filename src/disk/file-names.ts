export const DATABASE = 'holdfast.db'
/** Name of the database during a restore. The last step of the restore renames it to {@link DATABASE}. */
export const RESTORING = 'holdfast.db.restored'
/** Key that encrypts secrets in the database. */
export const DATA_KEY = 'data.key'
/** Session signing keys. */
export const SECRETS = 'secrets'
export const TAKEDOWNS = 'takedowns.deny'
/** Reserves disk space. The node deletes this file when the disk is full. */
export const BALLAST = 'ballast'
/** Directory beside each `blocks/` for damaged blocks and foreign files. */
export const QUARANTINE = 'quarantine'
