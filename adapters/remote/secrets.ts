import { readFile } from 'node:fs/promises'
import type { Environment } from '../../src/clusters/backend-adapter.ts'
import { HoldfastError } from '../../src/domain/errors.ts'

export interface SecretSource {
  /** Prefix of the names of the configuration fields, for example of `keyFile` and `authEnv`. */
  name: 'key' | 'auth' | 'clientSecret'
  file: string | undefined
  env: string | undefined
}

/**
 * Reads a secret. Error messages never contain the secret.
 * @param path field of the configuration that has the fields of the source
 * @throws HoldfastError `CONFIG_INVALID` if the secret is missing, unreadable, empty or malformed
 */
export async function secretOf(
  path: string,
  { name, file, env }: SecretSource,
  environment: Environment,
): Promise<string> {
  const fail = (field: string, problem: string, cause?: unknown): never => {
    throw new HoldfastError('CONFIG_INVALID', `${path}.${field} ${problem}`, { cause })
  }
  if (file === undefined && env === undefined) return fail(`${name}File`, `or ${name}Env is required`)
  const field = file === undefined ? `${name}Env` : `${name}File`
  const text =
    file === undefined
      ? environment[env ?? '']
      : await readFile(file, 'utf8').catch((cause: unknown) => fail(field, `${file} cannot be read`, cause))
  const secret = text?.trim() ?? ''
  if (secret === '') return fail(field, `${file ?? env} is empty`)
  if (!/^[\x21-\x7e]+$/.test(secret)) return fail(field, `${file ?? env} must contain printable ASCII without spaces`)
  return secret
}

/**
 * Returns the value of the `Authorization` header, or null if no credentials are configured.
 * @throws HoldfastError `CONFIG_INVALID` if the secret is neither `bearer:<token>` nor `basic:<user>:<password>`
 */
export async function authorizationOf(
  clusterId: string,
  { authFile: file, authEnv: env }: { authFile?: string | undefined; authEnv?: string | undefined },
  environment: Environment,
): Promise<string | null> {
  if (file === undefined && env === undefined) return null
  const secret = await secretOf(`clusters: ${clusterId}.backend`, { name: 'auth', file, env }, environment)
  const [, kind, rest = ''] = /^(bearer|basic):(.+)$/.exec(secret) ?? []
  if (kind === 'bearer') return `Bearer ${rest}`
  if (kind === 'basic' && rest.includes(':')) return `Basic ${Buffer.from(rest).toString('base64')}`
  const field = file === undefined ? 'authEnv' : 'authFile'
  throw new HoldfastError(
    'CONFIG_INVALID',
    `clusters: ${clusterId}.backend.${field} ${file ?? env} must contain bearer:<token> or basic:<user>:<password>`,
  )
}
