import { join, resolve } from 'node:path'
import type { Datastore, Key } from 'interface-datastore'
import { type CatalogueAdapter, type CatalogueDatabase, catalogueDatabase } from '../catalogue/catalogue-adapter.ts'
import type { SealedSecrets } from '../catalogue/catalogue-system.ts'
import { forgetSecondFactors, secondFactorsIn } from '../catalogue/sqlite/lost-second-factors.ts'
import { forgetWebhooks, webhooksIn } from '../catalogue/sqlite/lost-webhooks.ts'
import { ownDataDirectory } from '../disk/data-directory.ts'
import { DATA_KEY, DATABASE } from '../disk/file-names.ts'
import { HoldfastError } from '../domain/errors.ts'
import { silentLogger } from '../domain/logger.ts'
import { PRIVATE_KEYS } from '../network/sealed-datastore.ts'
import { dataKeyProblem, replaceKeyFile as replaceKey } from '../storage/data-key.ts'
import { Database } from '../storage/database.ts'
import { connectCatalogue } from './connect-catalogue.ts'
import { catalogueNode } from './open-shared-catalogue.ts'

/** Secrets that were sealed with a lost `data.key`. Nothing can open them. */
export interface LostSecrets {
  /** Why the key cannot be used. */
  problem: string
  /** Emails of accounts with a second factor. After replacement they sign in with their password alone. */
  secondFactors: string[]
  /** URLs of webhooks. Replacement removes them. */
  webhooks: string[]
  /** Names of the node's private keys. After losing `self` the node has a new peer id. */
  privateKeys: string[]
  /** True if the secrets were dropped and a new key was made. */
  replaced: boolean
}

/** Options of a key replacement. */
export interface ReplaceDataKeyOptions {
  /** Drops the secrets and makes a new key. Default false: only lists the secrets. */
  forgetSecrets?: boolean
  /** URL of the PostgreSQL catalogue, if the directory uses one. */
  database?: string | undefined
  /** Adapter of that database: `postgres` of `holdfast/postgres`. */
  catalogue?: CatalogueAdapter
}

/**
 * Replaces the lost `data.key` of a data directory and drops all secrets sealed with it. Without `forgetSecrets` it
 * only lists them. No engine may use the directory. For a catalogue in PostgreSQL, `database` and `catalogue` are
 * required.
 *
 * @throws HoldfastError `CONFLICT` if the key works, or other nodes have it; `CONFIG_INVALID` if `database` is not the
 * directory's catalogue; `DATA_DIR_IN_USE`, `DATA_DIR_UNUSABLE`, `DATA_DIR_NEWER`
 */
export async function replaceDataKey(
  dataDir: string,
  { forgetSecrets = false, database: url, catalogue: adapter }: ReplaceDataKeyOptions = {},
): Promise<LostSecrets> {
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
        const { secondFactors, webhooks } = await catalogue.sealed()
        if (forgetSecrets) {
          // Replace the key last. Until then every step can be repeated.
          for (const key of keys) await datastore.delete(key)
          await catalogue.forget()
          replaceKey(database, directory, () => {
            forgetSecondFactors(database)
            forgetWebhooks(database)
          })
        }
        return { problem, secondFactors, webhooks, privateKeys, replaced: forgetSecrets }
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

/** Secrets of a catalogue that the key has sealed. */
interface SealingCatalogue {
  sealed(): Promise<Pick<LostSecrets, 'secondFactors' | 'webhooks'>>
  /** Drops the secrets. Does nothing for SQLite, where replacing the key drops them. */
  forget(): Promise<void>
  close(): Promise<void>
}

async function openCatalogue(database: Database, outside: CatalogueDatabase | null): Promise<SealingCatalogue> {
  if (catalogueNode(database) === null) {
    const nothing = async (): Promise<void> => undefined
    const sealed = async () => ({ secondFactors: secondFactorsIn(database), webhooks: webhooksIn(database) })
    return { sealed, forget: nothing, close: nothing }
  }
  if (outside === null) {
    throw new HoldfastError(
      'CONFIG_INVALID',
      'database: the catalogue of this data directory is in PostgreSQL: set its URL',
    )
  }
  const { catalogue } = await connectCatalogue(database, outside)
  const sealed = async (): Promise<SealedSecrets> => {
    const found = await catalogue.sealed()
    if (found.nodes === 1) return found
    throw new HoldfastError('CONFLICT', 'other nodes have the key: copy data.key from one of them')
  }
  return { sealed, forget: () => catalogue.forgetSealed(), close: () => catalogue.close() }
}

async function privateKeysIn(datastore: Datastore): Promise<Key[]> {
  const keys: Key[] = []
  for await (const key of datastore.queryKeys({ prefix: PRIVATE_KEYS })) keys.push(key)
  return keys
}
