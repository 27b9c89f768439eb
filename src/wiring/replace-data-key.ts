import { join, resolve } from 'node:path'
import type { Datastore, Key } from 'interface-datastore'
import { type CatalogueAdapter, type CatalogueDatabase, catalogueDatabase } from '../catalogue/catalogue-adapter.ts'
import { forgetLost, lostIn } from '../catalogue/sqlite/sealed-with-lost-key.ts'
import type { LostNames } from '../catalogue/tables.ts'
import { REPLACE_DATA_KEY } from '../config/option-names.ts'
import { ownDataDirectory } from '../disk/data-directory.ts'
import { DATA_KEY, DATABASE } from '../disk/file-names.ts'
import { HoldfastError } from '../domain/errors.ts'
import { checkFields } from '../domain/known-fields.ts'
import { silentLogger } from '../domain/logger.ts'
import { allTables } from '../features/feature-list.ts'
import { catalogueNode } from '../ledger/catalogue-node.ts'
import { PRIVATE_KEYS } from '../network/sealed-datastore.ts'
import { dataKeyProblem, replaceKeyFile as replaceKey } from '../storage/data-key.ts'
import { Database } from '../storage/database.ts'
import { connectCatalogue } from './connect-catalogue.ts'

/** Secrets that were encrypted with a lost `data.key`. They cannot be decrypted any more. */
export interface LostSecrets {
  /** Reason why the key cannot be used. */
  problem: string
  /**
   * Emails of the accounts with a second factor. After the replacement, these accounts sign in with only their
   * password.
   */
  secondFactors: string[]
  // feature: webhooks
  /** URLs of the webhooks that the replacement removes. */
  webhooks: string[]
  // end
  /** Names of the node's private keys. If `self` is among them, the node gets a new peer id. */
  privateKeys: string[]
  /** True if the secrets were deleted and a new key was created. */
  replaced: boolean
}

/** Options for the replacement of a key. */
export interface ReplaceDataKeyOptions {
  /** True to delete the secrets and create a new key. Default false: only lists the secrets. */
  forgetSecrets?: boolean
  /** URL of the PostgreSQL catalogue, if the directory uses one. */
  database?: string | undefined
  /** Adapter of the PostgreSQL catalogue: `postgres` from `holdfast/postgres`. */
  catalogue?: CatalogueAdapter
}

/** Does the work of `replaceDataKey` of the public API. */
export async function replacedDataKey(dataDir: string, options: ReplaceDataKeyOptions = {}): Promise<LostSecrets> {
  checkFields(options, REPLACE_DATA_KEY, 'replaceDataKey')
  const { forgetSecrets = false, database: url, catalogue: adapter } = options
  const outside = catalogueDatabase(url, adapter)
  const directory = resolve(dataDir)
  const { datastore, close } = await ownDataDirectory(directory, silentLogger)
  try {
    const database = new Database(join(directory, DATABASE))
    try {
      const problem = dataKeyProblem(database, directory)
      if (problem === null) throw new HoldfastError('CONFLICT', `${join(directory, DATA_KEY)} is valid`)
      const catalogue = await openCatalogue(database, outside)
      try {
        const keys = await privateKeysIn(datastore)
        const privateKeys = keys.map(key => key.toString().slice(PRIVATE_KEYS.length))
        const lost = await catalogue.sealed()
        if (forgetSecrets) {
          // Replace the key last. If an earlier step fails, the whole replacement can be repeated.
          for (const key of keys) await datastore.delete(key)
          await catalogue.forget()
          replaceKey(database, directory, () => forgetLost(database, allTables))
        }
        return { problem, ...lost, privateKeys, replaced: forgetSecrets }
      } finally {
        await catalogue.close()
      }
    } finally {
      database.close()
    }
  } finally {
    await close()
  }
}

interface SealingCatalogue {
  sealed(): Promise<LostNames>
  /** Does nothing for SQLite, because replacing the key also deletes the secrets in SQLite. */
  forget(): Promise<void>
  close(): Promise<void>
}

async function openCatalogue(database: Database, outside: CatalogueDatabase | null): Promise<SealingCatalogue> {
  if (catalogueNode(database) === null) {
    const nothing = async (): Promise<void> => undefined
    return { sealed: async () => lostIn(database, allTables), forget: nothing, close: nothing }
  }
  if (outside === null) {
    throw new HoldfastError(
      'CONFIG_INVALID',
      'database: the catalogue of this data directory is in PostgreSQL: set its URL',
    )
  }
  const { catalogue } = await connectCatalogue(database, outside)
  const sealed = async (): Promise<LostNames> => {
    const { nodes, ...found } = await catalogue.sealed(allTables)
    if (nodes === 1) return found
    throw new HoldfastError('CONFLICT', 'other nodes have the key: copy data.key from one of them')
  }
  return { sealed, forget: () => catalogue.forgetSealed(allTables), close: () => catalogue.close() }
}

async function privateKeysIn(datastore: Datastore): Promise<Key[]> {
  const keys: Key[] = []
  for await (const key of datastore.queryKeys({ prefix: PRIVATE_KEYS })) keys.push(key)
  return keys
}
