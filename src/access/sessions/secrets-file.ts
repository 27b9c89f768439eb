import { chmod, readFile } from 'node:fs/promises'
import Type from 'typebox'
import { Value } from 'typebox/value'
import type { SigningKeyStore, StoredSigningKey } from '../../catalogue/sign-in.ts'
import { OWNERS_FILE } from '../../disk/node-file-system.ts'
import { replaceFile } from '../../disk/replace-file.ts'
import { HoldfastError } from '../../domain/errors.ts'

const schema = Type.Object({
  signingKeys: Type.Array(
    Type.Object({
      kid: Type.String({ minLength: 1 }),
      secret: Type.String({ pattern: '^[A-Za-z0-9_-]{43,}$' }),
      createdAt: Type.Number(),
    }),
  ),
})

/**
 * The file `secrets` of a data directory. It is made when there is the first secret to keep; without it there is none,
 * so that taking it away ends all sessions.
 */
export class SecretsFile implements SigningKeyStore {
  readonly #path: string
  #signingKeys: readonly StoredSigningKey[]

  private constructor(path: string, signingKeys: readonly StoredSigningKey[]) {
    this.#path = path
    this.#signingKeys = signingKeys
  }

  /** @throws HoldfastError `DATA_DIR_UNUSABLE` if it cannot be read, or is not what was written. */
  static async open(path: string): Promise<SecretsFile> {
    try {
      const text = await readFile(path, 'utf8')
      // A backup that was brought back may have come with other rights.
      await chmod(path, OWNERS_FILE)
      return new SecretsFile(path, Value.Parse(schema, JSON.parse(text)).signingKeys)
    } catch (cause) {
      if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return new SecretsFile(path, [])
      const problem = cause instanceof Error && 'code' in cause ? 'cannot be read' : 'is damaged'
      throw new HoldfastError('DATA_DIR_UNUSABLE', `${path} ${problem}; without it all have to sign in again`, {
        cause,
      })
    }
  }

  async load(): Promise<readonly StoredSigningKey[]> {
    return this.#signingKeys
  }

  /** The directory is this process's, so nobody else has put others in their place. */
  async replace(_: string | null, signingKeys: readonly StoredSigningKey[]): Promise<readonly StoredSigningKey[]> {
    await replaceFile(this.#path, `${JSON.stringify({ signingKeys }, null, 2)}\n`)
    this.#signingKeys = signingKeys
    return signingKeys
  }
}
