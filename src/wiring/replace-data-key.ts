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

/** What a lost `data.key` had sealed, which nothing opens any more. */
export interface LostSecrets {
  /** What is wrong with the key. */
  problem: string
  /** The emails of accounts that sign in with a second factor: from then on with their password alone. */
  secondFactors: string[]
  /** The addresses that accounts have told of their records: they are told nothing any more. */
  webhooks: string[]
  /** Private keys of the node: without `self` it gets a new identity in the network. */
  privateKeys: string[]
  /** Whether they have been given up and a new key made. */
  replaced: boolean
}

/** How a `data.key` is replaced. */
export interface ReplaceDataKeyOptions {
  /** Whether to give up the secrets; default: false, which only tells what they are. */
  forgetSecrets?: boolean
  /** The URL of a catalogue outside the data directory. */
  database?: string | undefined
  /** The system of that database: `postgres` of `holdfast/postgres`. */
  catalogue?: CatalogueAdapter
}

/**
 * Makes a new `data.key` for a data directory that has lost its own, and drops what that had sealed; without
 * `forgetSecrets` it only tells what that is. No engine may be using the directory. Where the catalogue is in PostgreSQL
 * that is named as `database`, and `postgres` of `holdfast/postgres` as `catalogue`.
 *
 * @throws HoldfastError `CONFLICT` if the key is in order, or other nodes have it; `CONFIG_INVALID` if the catalogue is not
 * where it is said to be; `DATA_DIR_IN_USE`, `DATA_DIR_UNUSABLE`, `DATA_DIR_NEWER`
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
      if (problem === null) throw new HoldfastError('CONFLICT', `${join(directory, DATA_KEY)} is in order`)
      const catalogue = await openCatalogue(database, outside)
      try {
        const keys = await privateKeysIn(datastore)
        const privateKeys = keys.map(key => key.toString().slice(PRIVATE_KEYS.length))
        const { secondFactors, webhooks } = await catalogue.sealed()
        if (forgetSecrets) {
          // The key counts last: until then all of this can be done again.
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

/** What the key seals in a catalogue. */
interface SealingCatalogue {
  sealed(): Promise<Pick<LostSecrets, 'secondFactors' | 'webhooks'>>
  /** Gives it up, unless that is done as the key is replaced. */
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
      'database: the catalogue of this data directory is in PostgreSQL: name it',
    )
  }
  const { catalogue } = await connectCatalogue(database, outside)
  const sealed = async (): Promise<SealedSecrets> => {
    const found = await catalogue.sealed()
    if (found.nodes === 1) return found
    throw new HoldfastError('CONFLICT', 'other nodes have the key: copy data.key of one of them')
  }
  return { sealed, forget: () => catalogue.forgetSealed(), close: () => catalogue.close() }
}

async function privateKeysIn(datastore: Datastore): Promise<Key[]> {
  const keys: Key[] = []
  for await (const key of datastore.queryKeys({ prefix: PRIVATE_KEYS })) keys.push(key)
  return keys
}
