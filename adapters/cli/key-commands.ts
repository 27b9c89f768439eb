import { randomBytes } from 'node:crypto'
import type { ApiKey } from '../../src/index.ts'
import { listFlag, readFlags, requireFlag, usageError } from './arguments.ts'
import { isoTime, printJson } from './output.ts'
import type { Environment } from './settings.ts'
import { findAccount, presentAccount, withAccounts } from './with-accounts.ts'

/** `key create`. */
export async function createKey(args: readonly string[], env: Environment): Promise<boolean> {
  const names = ['account', 'name', 'scopes', 'label', 'expires-in-days', 'ip-allowlist', 'data-dir', 'config'] as const
  const flags = readFlags(args, names)
  if (flags === null) return false
  const idOrEmail = requireFlag(flags, 'account')
  const input = {
    name: flags.name ?? `key-${randomBytes(4).toString('hex')}`,
    scopes: listFlag(flags, 'scopes'),
    label: flags.label,
    expiresInDays: readDays(flags['expires-in-days']),
    ipAllowlist: listFlag(flags, 'ip-allowlist'),
  }
  return withAccounts(flags, env, async handle => {
    const account = await findAccount(handle, idOrEmail)
    const { secret, key } = await handle.keys.create(account.id, input)
    const { name, scopes, ipAllowlist } = key
    const expiresAt = isoTime(key.expiresAt)
    printJson({ account: presentAccount(account), key: secret, name, scopes, expiresAt, ipAllowlist })
  })
}

/** `key list`. */
export async function listKeys(args: readonly string[], env: Environment): Promise<boolean> {
  const flags = readFlags(args, ['account', 'data-dir', 'config'])
  if (flags === null) return false
  const idOrEmail = requireFlag(flags, 'account')
  return withAccounts(flags, env, async handle => {
    const account = await findAccount(handle, idOrEmail)
    const keys: ApiKey[] = []
    for await (const page of handle.keys.pages(account.id)) keys.push(...page)
    const rows = keys.map(({ name, label, prefix, parent, scopes, ipAllowlist, ...times }) => ({
      name,
      label,
      prefix,
      parent,
      scopes,
      ipAllowlist,
      createdAt: isoTime(times.createdAt),
      lastUsedAt: isoTime(times.lastUsedAt),
      expiresAt: isoTime(times.expiresAt),
    }))
    printJson({ account: presentAccount(account), keys: rows })
  })
}

/** `key revoke`. */
export async function revokeKey(args: readonly string[], env: Environment): Promise<boolean> {
  const flags = readFlags(args, ['account', 'name', 'data-dir', 'config'])
  if (flags === null) return false
  const idOrEmail = requireFlag(flags, 'account')
  const name = requireFlag(flags, 'name')
  return withAccounts(flags, env, async handle => {
    const account = await findAccount(handle, idOrEmail)
    await handle.keys.revokeByName(account.id, name)
    printJson({ account: presentAccount(account), name, revoked: true })
  })
}

function readDays(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,6}$/.test(text)) throw usageError('--expires-in-days must be a whole number')
  return Number(text)
}
