import { readFile } from 'node:fs/promises'
import type { Environment } from '../../src/clusters/backend-adapter.ts'
import { HoldfastError } from '../../src/domain/errors.ts'

/** Where a secret of a backend is. */
export interface SecretPlace {
  /** What it is, by which the fields of the configuration begin. */
  what: 'key' | 'auth'
  file: string | undefined
  env: string | undefined
}

/**
 * A secret of a cluster's backend. The message of an error names where it was looked for, never what was found.
 *
 * @throws HoldfastError `CONFIG_INVALID` if it is not to be had
 */
export async function secretOf(
  clusterId: string,
  { what, file, env }: SecretPlace,
  environment: Environment,
): Promise<string> {
  const fail = (field: string, problem: string, cause?: unknown): never => {
    throw new HoldfastError('CONFIG_INVALID', `clusters: ${clusterId}.backend.${field} ${problem}`, { cause })
  }
  if (file === undefined && env === undefined) return fail(`${what}File`, `or ${what}Env is needed`)
  const field = file === undefined ? `${what}Env` : `${what}File`
  const text =
    file === undefined
      ? environment[env ?? '']
      : await readFile(file, 'utf8').catch((cause: unknown) => fail(field, `${file} cannot be read`, cause))
  const secret = text?.trim() ?? ''
  if (secret === '') return fail(field, `${file ?? env} has no ${what} in it`)
  if (!/^[\x21-\x7e]+$/.test(secret)) return fail(field, `${file ?? env} has what is no ${what} in it`)
  return secret
}

/**
 * The header `Authorization` of a backend's API; null if it asks for none.
 *
 * @throws HoldfastError `CONFIG_INVALID` for what is neither `bearer:<token>` nor `basic:<user>:<password>`
 */
export async function authorizationOf(
  clusterId: string,
  { authFile: file, authEnv: env }: { authFile?: string | undefined; authEnv?: string | undefined },
  environment: Environment,
): Promise<string | null> {
  if (file === undefined && env === undefined) return null
  const secret = await secretOf(clusterId, { what: 'auth', file, env }, environment)
  const [, kind, rest = ''] = /^(bearer|basic):(.+)$/.exec(secret) ?? []
  if (kind === 'bearer') return `Bearer ${rest}`
  if (kind === 'basic' && rest.includes(':')) return `Basic ${Buffer.from(rest).toString('base64')}`
  const field = file === undefined ? 'authEnv' : 'authFile'
  throw new HoldfastError(
    'CONFIG_INVALID',
    `clusters: ${clusterId}.backend.${field} ${file ?? env} has to have bearer:<token> or basic:<user>:<password> in it`,
  )
}
