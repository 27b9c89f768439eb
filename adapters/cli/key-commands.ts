import { randomBytes } from 'node:crypto'
import type { ApiKey } from '../../src/index.ts'
import type { GivenTo } from './all-commands.ts'
import { splitList } from './arguments.ts'
import { timelockOf } from './content-words.ts'
import { keyTable } from './key-lines.ts'
import { isoTime, print, printJson, terminalColumns } from './output.ts'
import type { Environment } from './settings.ts'
import { findAccount, presentAccount, withAccounts } from './with-accounts.ts'

export async function createKey(given: GivenTo<'key create'>, env: Environment): Promise<void> {
  const { flags } = given
  const input = {
    name: flags.name ?? (flags['max-uses'] === undefined ? `key-${randomBytes(4).toString('hex')}` : undefined),
    scopes: splitList(flags.scopes),
    label: flags.label,
    expiresInDays: flags['expires-in-days'],
    ipAllowlist: splitList(flags['ip-allowlist']),
    maxUses: flags['max-uses'],
    maxBytes: flags['max-bytes'],
    cluster: flags.cluster,
    timelock: timelockOf(flags.timelock),
    expiresInSeconds: flags['expires-in-seconds'],
  }
  return withAccounts(flags, env, async handle => {
    const account = await findAccount(handle, flags.account)
    const { secret, key } = await handle.keys.create(account.id, input)
    const { name, scopes, ipAllowlist } = key
    const expiresAt = isoTime(key.expiresAt)
    printJson({ account: presentAccount(account), key: secret, name, scopes, expiresAt, ipAllowlist, ...grantOf(key) })
  })
}

export async function listKeys(given: GivenTo<'key list'>, env: Environment): Promise<void> {
  const { flags } = given
  return withAccounts(flags, env, async handle => {
    const account = await findAccount(handle, flags.account)
    const keys: ApiKey[] = []
    if (given.flags.uploads) keys.push(...(await handle.keys.list(account.id, { isUpload: true })))
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
    if (terminalColumns() === null || flags.json) printJson({ account: presentAccount(account), keys: rows })
    else print(keyTable(rows))
  })
}

export async function revokeKey(given: GivenTo<'key revoke'>, env: Environment): Promise<void> {
  const { account: idOrEmail, name } = given.flags
  return withAccounts(given.flags, env, async handle => {
    const account = await findAccount(handle, idOrEmail)
    await handle.keys.revokeByName(account.id, name)
    printJson({ account: presentAccount(account), name, revoked: true })
  })
}

function grantOf({ upload }: Pick<ApiKey, 'upload'>): { upload?: object } {
  return upload === null ? {} : { upload: { ...upload, timelock: isoTime(upload.timelock) } }
}
