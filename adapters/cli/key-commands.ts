import { randomBytes } from 'node:crypto'
import type { ApiKey } from '../../src/index.ts'
import { type Flags, listFlag, readArguments, readFlags, requireFlag, usageError } from './arguments.ts'
import { isoTime, printJson } from './output.ts'
import type { Environment } from './settings.ts'
import { findAccount, presentAccount, withAccounts } from './with-accounts.ts'

const KEY_FLAGS = [
  ...(['account', 'name', 'scopes', 'label', 'expires-in-days', 'ip-allowlist'] as const),
  ...(['max-uses', 'max-bytes', 'cluster', 'timelock', 'expires-in-seconds'] as const),
  ...(['data-dir', 'config'] as const),
]

export async function createKey(args: readonly string[], env: Environment): Promise<boolean> {
  const flags = readFlags(args, KEY_FLAGS)
  if (flags === null) return false
  const idOrEmail = requireFlag(flags, 'account')
  const input = {
    name: flags.name ?? (flags['max-uses'] === undefined ? `key-${randomBytes(4).toString('hex')}` : undefined),
    scopes: listFlag(flags, 'scopes'),
    label: flags.label,
    expiresInDays: readWhole(flags, 'expires-in-days'),
    ipAllowlist: listFlag(flags, 'ip-allowlist'),
    maxUses: readWhole(flags, 'max-uses'),
    maxBytes: readWhole(flags, 'max-bytes'),
    cluster: flags.cluster,
    timelock: flags.timelock,
    expiresInSeconds: readWhole(flags, 'expires-in-seconds'),
  }
  return withAccounts(flags, env, async handle => {
    const account = await findAccount(handle, idOrEmail)
    const { secret, key } = await handle.keys.create(account.id, input)
    const { name, scopes, ipAllowlist } = key
    const expiresAt = isoTime(key.expiresAt)
    printJson({ account: presentAccount(account), key: secret, name, scopes, expiresAt, ipAllowlist, ...grantOf(key) })
  })
}

export async function listKeys(args: readonly string[], env: Environment): Promise<boolean> {
  const given = readArguments(args, { values: ['account', 'data-dir', 'config'], switches: ['uploads'] })
  if (given === null) return false
  const { flags } = given
  const idOrEmail = requireFlag(flags, 'account')
  return withAccounts(flags, env, async handle => {
    const account = await findAccount(handle, idOrEmail)
    const keys: ApiKey[] = []
    if (given.switches.has('uploads')) keys.push(...(await handle.keys.list(account.id, { isUpload: true })))
    else for await (const page of handle.keys.pages(account.id)) keys.push(...page)
    const rows = keys.map(({ name, label, prefix, parent, scopes, ipAllowlist, upload, uses, ...times }) => ({
      name,
      label,
      prefix,
      parent,
      scopes,
      ipAllowlist,
      createdAt: isoTime(times.createdAt),
      lastUsedAt: isoTime(times.lastUsedAt),
      expiresAt: isoTime(times.expiresAt),
      ...(upload === null ? {} : { ...grantOf({ upload }), uses }),
    }))
    printJson({ account: presentAccount(account), keys: rows })
  })
}

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

function grantOf({ upload }: Pick<ApiKey, 'upload'>): { upload?: object } {
  return upload === null ? {} : { upload: { ...upload, timelock: isoTime(upload.timelock) } }
}

function readWhole<Name extends string>(flags: Flags<Name>, name: Name): number | undefined {
  const text = flags[name]
  if (text === undefined) return undefined
  if (!/^\d{1,15}$/.test(text)) throw usageError(`--${name} must be a whole number`)
  return Number(text)
}
