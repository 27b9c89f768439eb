import { chmod, copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { LevelDatastore } from 'datastore-level'
import { type Datastore, Key } from 'interface-datastore'
import Type from 'typebox'
import { Value } from 'typebox/value'
import { ownDataDirectory } from '../disk/data-directory.ts'
import { DATA_KEY, SECRETS } from '../disk/file-names.ts'
import { nodeFileSystem, OWNERS_FILE } from '../disk/file-system.ts'
import { replaceFile } from '../disk/replace-file.ts'
import { HoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import { silentLogger } from '../domain/logger.ts'
import type { CopiedLedger } from '../ledger/copied-ledger.ts'
import { sealedDatastore } from '../network/sealed-datastore.ts'

/** Where libp2p's keychain keeps private keys. */
const PRIVATE_KEYS = '/pkcs8/'
/** The private keys of the node, by their name in the datastore. */
const IDENTITY = 'identity.json'

const identitySchema = Type.Record(Type.String({ pattern: '^/pkcs8/' }), Type.String())

/** Copies the keys of a data directory: of what is sealed, of sessions, of the node. */
export async function copyKeys(dataDir: string, datastore: Datastore, to: string): Promise<void> {
  await replaceFile(join(to, DATA_KEY), await readFile(join(dataDir, DATA_KEY), 'utf8'))
  const secrets = await readFile(join(dataDir, SECRETS), 'utf8').catch(absent)
  if (secrets !== null) await replaceFile(join(to, SECRETS), secrets)
  const identity: Record<string, string> = {}
  for await (const { key, value } of datastore.query({ prefix: PRIVATE_KEYS })) {
    identity[key.toString()] = Buffer.from(value).toString('base64')
  }
  await replaceFile(join(to, IDENTITY), `${JSON.stringify(identity, null, 2)}\n`)
}

/**
 * Gives a data directory that is being restored the keys of its backup. Unless it is to be the same node, it meets
 * others as a new one and all sign in again: two nodes with one identity, or one signature, are in each other's way.
 *
 * @throws HoldfastError `BACKUP_UNUSABLE` if the key that seals is missing or another's
 */
export async function bringKeys(
  dataDir: string,
  { keys, ledger, sameNode }: { keys: string; ledger: CopiedLedger; sameNode: boolean },
): Promise<void> {
  await bring(join(keys, DATA_KEY), join(dataDir, DATA_KEY))
  const sealing = ledger.openDataKey(dataDir)
  if (!sameNode) return
  const secrets = await bring(join(keys, SECRETS), join(dataDir, SECRETS)).catch(absent)
  if (secrets === null) await nodeFileSystem.syncDirectory(dataDir)
  const text = await readFile(join(keys, IDENTITY), 'utf8')
  const owned = await ownDataDirectory(dataDir, silentLogger)
  try {
    const store = await sealedDatastore(owned.datastore as LevelDatastore, sealing)
    for (const [name, value] of Object.entries(Value.Parse(identitySchema, JSON.parse(text)))) {
      await store.put(new Key(name), Buffer.from(value, 'base64'))
    }
  } finally {
    await owned.close()
  }
}

async function bring(from: string, to: string): Promise<void> {
  try {
    await copyFile(from, to)
    await chmod(to, OWNERS_FILE)
  } catch (cause) {
    if (fileErrorCode(cause) === 'ENOENT' && from.endsWith(SECRETS)) throw cause
    throw new HoldfastError('BACKUP_UNUSABLE', `${from} is needed and cannot be read: name its directory`, { cause })
  }
}

function absent(error: unknown): null {
  if (fileErrorCode(error) !== 'ENOENT') throw error
  return null
}
