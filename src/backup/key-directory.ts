import { createHash } from 'node:crypto'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { LevelDatastore } from 'datastore-level'
import { type Datastore, Key } from 'interface-datastore'
import Type from 'typebox'
import { Value } from 'typebox/value'
import { DATA_KEY, SECRETS } from '../disk/file-names.ts'
import { makeNamedDirectory } from '../disk/make-directory.ts'
import { OWNERS_DIRECTORY } from '../disk/node-file-system.ts'
import { replaceFile } from '../disk/replace-file.ts'
import { HoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import type { CopiedLedger } from '../ledger/copied-ledger.ts'
import { PRIVATE_KEYS, sealedDatastore } from '../network/sealed-datastore.ts'
import type { AnyManifest } from './manifest.ts'

/** File with the node's private keys, under their names in the datastore. */
const IDENTITY = 'identity.json'
/** File with the identity of the node to which a key directory belongs. */
const OWNER = 'node'

const identitySchema = Type.Record(Type.String({ pattern: '^/pkcs8/' }), Type.String())

/** Texts by file name. */
export type KeyFiles = ReadonlyMap<string, string>

/** Returns the data key, the keys that sign sessions, and the private keys of the node. */
export async function keysOf(dataDir: string, datastore: Datastore): Promise<KeyFiles> {
  const files = new Map([[DATA_KEY, await readFile(join(dataDir, DATA_KEY), 'utf8')]])
  const secrets = await textOf(join(dataDir, SECRETS))
  if (secrets !== null) files.set(SECRETS, secrets)
  const identity: Record<string, string> = {}
  for await (const { key, value } of datastore.query({ prefix: PRIVATE_KEYS })) {
    identity[key.toString()] = Buffer.from(value).toString('base64')
  }
  return files.set(IDENTITY, `${JSON.stringify(identity, null, 2)}\n`)
}

/**
 * Checks that a key directory belongs to a node, and marks a free directory as belonging to the node. A directory of
 * version 0.2.0 does not name its node, so its key files must be those of the node.
 *
 * @param isReplaced true to accept a directory of another node
 * @throws HoldfastError `VALIDATION` if the directory cannot be used; `CONFLICT` if it contains the keys of another node
 */
export async function claimKeys(
  directory: string,
  { node, keys, isReplaced }: { node: string; keys: KeyFiles; isReplaced: boolean },
): Promise<void> {
  makeNamedDirectory('keys', directory)
  const owner = await textOf(join(directory, OWNER))
  const isOurs = owner === null ? await hasNoOther(directory, keys) : owner.trim() === node
  if (!isOurs && !isReplaced) {
    const remedy = 'name another directory with --keys, or move those keys away'
    throw new HoldfastError('CONFLICT', `${directory} has the keys of another node: ${remedy}`)
  }
  await replaceFile(join(directory, OWNER), `${node}\n`)
}

async function hasNoOther(directory: string, keys: KeyFiles): Promise<boolean> {
  for (const name of [DATA_KEY, IDENTITY]) {
    const text = await textOf(join(directory, name))
    if (text !== null && text !== keys.get(name)) return false
  }
  return true
}

/**
 * Writes key files into a directory. Renames existing files with another text, because an earlier backup may need them.
 * Returns the SHA-256 hash of each new file.
 */
export async function storeKeys(directory: string, keys: KeyFiles): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {}
  for (const [name, text] of keys) {
    hashes[name] = sha256(text)
    const there = await textOf(join(directory, name))
    if (there === text) continue
    if (there !== null) await replaceFile(join(directory, asideName(name, sha256(there))), there)
    await replaceFile(join(directory, name), text)
  }
  return hashes
}

/** Returns the missing and damaged key files of a backup by their path. */
export async function keyProblems(
  directory: string,
  manifest: AnyManifest,
  ledger: CopiedLedger,
): Promise<Array<{ what: string; problem: string }>> {
  const found = await findKey(directory, DATA_KEY, manifest).catch(() => null)
  const problems: Array<{ what: string; problem: string }> = []
  if (found === null) problems.push({ what: join(directory, DATA_KEY), problem: 'missing or damaged' })
  else if (!ledger.isDataKey(found)) problems.push({ what: join(directory, DATA_KEY), problem: 'damaged' })
  if (manifest.format === 'holdfast-backup-1') return problems
  for (const name of Object.keys(manifest.keys.files)) {
    if (name === DATA_KEY || (await findKey(directory, name, manifest).catch(() => null)) !== null) continue
    problems.push({ what: join(directory, name), problem: 'missing or damaged' })
  }
  return problems
}

/** Replaces key files of a backup. Copies only files of the data directory whose hashes match the manifest. */
export async function repairKeys(directory: string, manifest: AnyManifest, dataDir: string): Promise<void> {
  const hashes = manifest.format === 'holdfast-backup-1' ? {} : manifest.keys.files
  await mkdir(directory, { recursive: true, mode: OWNERS_DIRECTORY })
  for (const name of [DATA_KEY, SECRETS]) {
    const text = await textOf(join(dataDir, name))
    if (text !== null && sha256(text) === hashes[name]) await replaceFile(join(directory, name), text)
  }
}

export function keyDirectory(directory: string, manifest: AnyManifest): string {
  const external = manifest.format === 'holdfast-backup-1' ? null : manifest.keys.directory
  return external ?? join(directory, 'keys')
}

export interface BroughtKeys {
  keys: string
  manifest: AnyManifest
  ledger: CopiedLedger
  datastore: LevelDatastore
  sameNode: boolean
}

/**
 * Copies the keys of a backup into the data directory that is being restored. If `sameNode` is false, omits the
 * identity and the keys that sign sessions, because two nodes must not share them.
 *
 * @throws HoldfastError `BACKUP_UNUSABLE` if the data key is missing or belongs to another backup
 */
export async function bringKeys(dataDir: string, brought: BroughtKeys): Promise<void> {
  const { keys, manifest, ledger, datastore, sameNode } = brought
  const dataKey = await needKey(keys, DATA_KEY, manifest)
  if (!ledger.isDataKey(dataKey)) throw cannotUse(join(keys, DATA_KEY))
  await replaceFile(join(dataDir, DATA_KEY), dataKey)
  if (!sameNode) {
    // An earlier attempt to restore may have written these keys.
    await rm(join(dataDir, SECRETS), { force: true })
    for await (const key of datastore.queryKeys({ prefix: PRIVATE_KEYS })) await datastore.delete(key)
    return ledger.renewNode()
  }
  const secrets = await findKey(keys, SECRETS, manifest)
  if (secrets !== null) await replaceFile(join(dataDir, SECRETS), secrets)
  const identity = await needKey(keys, IDENTITY, manifest)
  const store = await sealedDatastore(datastore, ledger.openDataKey(dataDir))
  for (const [name, value] of Object.entries(Value.Parse(identitySchema, JSON.parse(identity)))) {
    await store.put(new Key(name), Buffer.from(value, 'base64'))
  }
}

async function needKey(directory: string, name: string, manifest: AnyManifest): Promise<string> {
  const path = join(directory, name)
  const text = await findKey(directory, name, manifest).catch((cause: unknown) => {
    throw cannotUse(path, cause)
  })
  if (text === null) throw cannotUse(path)
  return text
}

function cannotUse(path: string, cause?: unknown): HoldfastError {
  const message = `${path} is missing, damaged or of another backup: set keys to the directory of the keys`
  return new HoldfastError('BACKUP_UNUSABLE', message, { cause })
}

/** Backups of the first format have no hashes. */
async function findKey(directory: string, name: string, manifest: AnyManifest): Promise<string | null> {
  if (manifest.format === 'holdfast-backup-1') return textOf(join(directory, name))
  const hash = manifest.keys.files[name]
  if (hash === undefined) return null
  for (const file of [name, asideName(name, hash)]) {
    const text = await textOf(join(directory, file))
    if (text !== null && sha256(text) === hash) return text
  }
  return null
}

function asideName(name: string, hash: string): string {
  return `${name}.${hash.slice(0, 16)}`
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

async function textOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (fileErrorCode(error) !== 'ENOENT') throw error
    return null
  }
}
