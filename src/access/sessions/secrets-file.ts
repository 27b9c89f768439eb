import { chmod, readFile } from 'node:fs/promises'
import Type from 'typebox'
import { Value } from 'typebox/value'
import type { SigningKeyStore, StoredSigningKey } from '../../catalogue/sign-in.ts'
import { OWNERS_FILE } from '../../disk/node-file-system.ts'
import { replaceFile } from '../../disk/replace-file.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { fileErrorCode } from '../../domain/file-system.ts'

const schema = Type.Object({
  signingKeys: Type.Array(
    Type.Object({
      kid: Type.String({ minLength: 1 }),
      secret: Type.String({ pattern: '^[A-Za-z0-9_-]{43,}$' }),
      createdAt: Type.Number(),
    }),
  ),
})

/** Signing keys of sessions. Deleting this file ends all sessions. */
export class SecretsFile implements SigningKeyStore {
  readonly #path: string
  #signingKeys: readonly StoredSigningKey[]

  private constructor(path: string, signingKeys: readonly StoredSigningKey[]) {
    this.#path = path
    this.#signingKeys = signingKeys
  }

  /** Throws a HoldfastError `DATA_DIR_UNUSABLE` if the file cannot be read or is damaged. */
  static async open(path: string): Promise<SecretsFile> {
    const file = await SecretsFile.read(path)
    try {
      // A file restored from a backup may have other permissions.
      await chmod(path, OWNERS_FILE)
    } catch (cause) {
      if (fileErrorCode(cause) !== 'ENOENT') throw cause
    }
    return file
  }

  /** Reads the file like {@link open}, and leaves its permissions. */
  static async read(path: string): Promise<SecretsFile> {
    try {
      return new SecretsFile(path, Value.Parse(schema, JSON.parse(await readFile(path, 'utf8'))).signingKeys)
    } catch (cause) {
      if (fileErrorCode(cause) === 'ENOENT') return new SecretsFile(path, [])
      const problem = cause instanceof Error && 'code' in cause ? 'cannot be read' : 'is damaged'
      const remedy = 'restore it, or delete it, which ends all sessions'
      throw new HoldfastError('DATA_DIR_UNUSABLE', `${path} ${problem}: ${remedy}`, { cause })
    }
  }

  async load(): Promise<readonly StoredSigningKey[]> {
    return this.#signingKeys
  }

  /** Ignores the expected key, because no other process can change the keys of this data directory. */
  async replace(_: string | null, signingKeys: readonly StoredSigningKey[]): Promise<readonly StoredSigningKey[]> {
    await replaceFile(this.#path, `${JSON.stringify({ signingKeys }, null, 2)}\n`)
    this.#signingKeys = signingKeys
    return signingKeys
  }
}
