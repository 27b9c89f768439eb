import { join, resolve } from 'node:path'
import type { Datastore, Key } from 'interface-datastore'
import { forgetSecondFactors, secondFactorsIn } from '../catalogue/sqlite/lost-second-factors.ts'
import { forgetWebhooks, webhooksIn } from '../catalogue/sqlite/lost-webhooks.ts'
import { ownDataDirectory } from '../disk/data-directory.ts'
import { DATA_KEY, DATABASE } from '../disk/file-names.ts'
import { HoldfastError } from '../domain/errors.ts'
import { silentLogger } from '../domain/logger.ts'
import { PRIVATE_KEYS } from '../network/sealed-datastore.ts'
import { dataKeyProblem, replaceDataKey as replaceKey } from '../storage/data-key.ts'
import { Database } from '../storage/database.ts'

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

/**
 * Makes a new `data.key` for a data directory that has lost its own, and drops what that had sealed; without
 * `forgetSecrets` it only tells what that is. No engine may be using the directory.
 *
 * @throws HoldfastError `CONFLICT` if the key is in order; `DATA_DIR_IN_USE`, `DATA_DIR_UNUSABLE`, `DATA_DIR_NEWER`
 */
export async function replaceDataKey(
  dataDir: string,
  { forgetSecrets = false }: { forgetSecrets?: boolean } = {},
): Promise<LostSecrets> {
  const directory = resolve(dataDir)
  const { datastore, close } = await ownDataDirectory(directory, silentLogger)
  try {
    const database = new Database(join(directory, DATABASE))
    try {
      const problem = dataKeyProblem(database, directory)
      if (problem === null) throw new HoldfastError('CONFLICT', `${join(directory, DATA_KEY)} is in order`)
      const keys = await privateKeysIn(datastore)
      const privateKeys = keys.map(key => key.toString().slice(PRIVATE_KEYS.length))
      const lost = {
        problem,
        secondFactors: secondFactorsIn(database),
        webhooks: webhooksIn(database),
        privateKeys,
        replaced: forgetSecrets,
      }
      if (!forgetSecrets) return lost
      // The key counts last: until then all of this can be done again.
      for (const key of keys) await datastore.delete(key)
      replaceKey(database, directory, () => {
        forgetSecondFactors(database)
        forgetWebhooks(database)
      })
      return lost
    } finally {
      database.close()
    }
  } finally {
    await close()
  }
}

async function privateKeysIn(datastore: Datastore): Promise<Key[]> {
  const keys: Key[] = []
  for await (const key of datastore.queryKeys({ prefix: PRIVATE_KEYS })) keys.push(key)
  return keys
}
