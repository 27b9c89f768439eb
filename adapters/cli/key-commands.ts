import { randomBytes } from 'node:crypto'
import type { ApiKey } from '../../src/index.ts'
import type { GivenTo } from './all-commands.ts'
import { splitList } from './arguments.ts'
import { timelockOf } from './content-words.ts'
import { keyTable } from './key-lines.ts'
import { isoTime, print, terminalColumns } from './output.ts'
import type { Environment } from './settings.ts'
import { accountCommand, presentAccount } from './with-accounts.ts'

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
  const create = accountCommand<typeof given>(async ({ keys }, account) => {
    const { secret, key } = await keys.create(account.id, input)
    const { name, scopes, ipAllowlist } = key
    const expiresAt = isoTime(key.expiresAt)
    return { account: presentAccount(account), key: secret, name, scopes, expiresAt, ipAllowlist, ...grantOf(key) }
  })
  return create(given, env)
}

export const listKeys = accountCommand<GivenTo<'key list'>>(async (handle, account, flags) => {
  const keys: ApiKey[] = []
  if (flags.uploads) keys.push(...(await handle.keys.list(account.id, { isUpload: true })))
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
  if (terminalColumns() === null || flags.json) return { account: presentAccount(account), keys: rows }
  print(keyTable(rows))
  return null
})

export const revokeKey = accountCommand<GivenTo<'key revoke'>>(async ({ keys }, account, { name }) => {
  await keys.revokeByName(account.id, name)
  return { account: presentAccount(account), name, revoked: true }
})

function grantOf({ upload }: Pick<ApiKey, 'upload'>): { upload?: object } {
  return upload === null ? {} : { upload: { ...upload, timelock: isoTime(upload.timelock) } }
}
