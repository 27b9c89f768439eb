import type { ConnectedAccounts, ConnectOptions } from '../access/accounts/accounts-handle.ts'
import type { EngineOptions } from '../api.ts'
import type { CheckBackupOptions, CheckedBackup } from '../backup/check.ts'
import type { RestoreBackupOptions, RestoreOutcome } from '../backup/restore.ts'
import type { HoldfastError } from '../domain/errors.ts'
import { loaders } from './loaders.ts'
import { moduleLoaders } from './module-loaders.ts'
import type { MoveCatalogueOptions, MovedCatalogue } from './move-catalogue.ts'
import type { LostSecrets, ReplaceDataKeyOptions } from './replace-data-key.ts'

/**
 * Reads the database, the keys and every block of a backup, and compares all hashes. If the check finds problems, the
 * next backup also reads all blocks.
 *
 * @throws HoldfastError `BACKUP_UNUSABLE` if the directory contains no backup; `CONFLICT` while another process uses
 * the backup; `VALIDATION` for an unknown option
 * @example const { problems } = await checkBackup({ backup: '/backup' })
 */
export async function checkBackup(options: CheckBackupOptions): Promise<CheckedBackup> {
  return (await loaders.checkBackup()).checkedBackup(options)
}

/**
 * Restores a backup into a new data directory, and checks the hash of every block. The directory is usable only when
 * all content is on the disk. A restore that was killed can be repeated.
 *
 * @throws HoldfastError `BACKUP_UNUSABLE` if the backup is incomplete; `DATA_DIR_UNUSABLE` if the directory is not
 * empty; `DATA_DIR_IN_USE` if another process owns the directory; `VALIDATION` if the directory overlaps the backup,
 * or for an unknown option; `CONFLICT` while another process writes the backup; `DATA_DIR_NEWER` if a newer version
 * wrote the backup; `BLOCK_DAMAGED` if a block is damaged and `partial` is false
 * @example const { blocks } = await restoreBackup({ backup: '/backup', dataDir: '/data' })
 */
export async function restoreBackup(options: RestoreBackupOptions): Promise<RestoreOutcome> {
  return (await loaders.restoreBackup()).restored(options)
}

/**
 * Moves the catalogue of a data directory into PostgreSQL, which a single commit completes. If a move is interrupted,
 * run it again: before the commit it starts over, and after the commit it only finishes the work.
 * @throws HoldfastError `CONFLICT` if the database is not empty, or if the directory changed during the move;
 * `CONFIG_INVALID` if another database has the catalogue of the directory, or if `catalogue` is missing;
 * `DATA_DIR_IN_USE`, `DATA_DIR_UNUSABLE`, `DATA_DIR_NEWER`, `UNAVAILABLE`, `OUTCOME_UNKNOWN`; `VALIDATION`
 * for an unknown option
 * @example await moveCatalogue({ dataDir: '/data', to: 'postgres://localhost/holdfast', catalogue: postgres })
 */
export async function moveCatalogue(options: MoveCatalogueOptions): Promise<MovedCatalogue> {
  return (await moduleLoaders.moveCatalogue()).movedCatalogue(options)
}

/**
 * Replaces the lost `data.key` of a data directory and deletes all secrets encrypted with that key. No engine may use
 * the directory.
 * @throws HoldfastError `CONFLICT` if the key works, or if other nodes have the key; `CONFIG_INVALID` if `database` is
 * not the catalogue of the directory; `DATA_DIR_IN_USE`, `DATA_DIR_UNUSABLE`, `DATA_DIR_NEWER`
 * @example await replaceDataKey('/data', { forgetSecrets: true })
 */
export async function replaceDataKey(dataDir: string, options: ReplaceDataKeyOptions = {}): Promise<LostSecrets> {
  return (await moduleLoaders.replaceDataKey()).replacedDataKey(dataDir, options)
}

/**
 * Returns the errors with which `createEngine` would refuse these options, by the same checks. Writes no file and takes
 * no lock, so a running engine goes on. Does not find out whether another process owns the directory.
 *
 * @example for (const { message } of await startRefusals({ dataDir: '/data' })) console.log(message)
 */
export async function startRefusals(options: EngineOptions): Promise<HoldfastError[]> {
  return (await moduleLoaders.checkStart()).foundRefusals(options)
}

/**
 * Opens the accounts and keys of a data directory, whose catalogue may be in SQLite or PostgreSQL. Running engines
 * notice changes within a second. The caller closes the handle.
 *
 * Migrates a directory from an older version, unless an engine of that version is running.
 * @throws HoldfastError `CONFIG_INVALID` if `database` is not the catalogue of the directory, or if `catalogue` is
 * missing for PostgreSQL; `UNAVAILABLE`, `DATA_DIR_IN_USE`, `DATA_DIR_UNUSABLE`, `DATA_DIR_NEWER`; `VALIDATION` for an
 * unknown option
 * @example const { accounts, close } = await connectAccounts({ dataDir: '/data' })
 */
export async function connectAccounts(options: ConnectOptions): Promise<ConnectedAccounts> {
  return (await moduleLoaders.connectAccounts()).connectedAccounts(options)
}
