import { type Account, SCOPES } from '../../src/index.ts'
import { accountRow, accountTable } from './account-lines.ts'
import { type CommonFlag, type Flags, readArguments, readFlags, requireFlag } from './arguments.ts'
import { consoleUrl, passwordLinkUrl } from './console-url.ts'
import { localUrl } from './listener.ts'
import { isoTime, print, printJson, terminalColumns } from './output.ts'
import { readPassword } from './password-input.ts'
import { type Environment, readServerSettings } from './settings.ts'
import { findAccount, type OpenedAccounts, presentAccount, withAccounts } from './with-accounts.ts'

export async function createAccount(args: readonly string[], env: Environment): Promise<boolean> {
  const flags = readFlags(args, ['email', 'plan', 'name', 'data-dir', 'config'])
  if (flags === null) return false
  const email = requireFlag(flags, 'email')
  const plan = requireFlag(flags, 'plan')
  return withAccounts(flags, env, async ({ accounts, keys }) => {
    const account = await accounts.create({ email, plan, name: flags.name ?? null })
    const { secret } = await keys.create(account.id, { name: 'default', scopes: SCOPES })
    printJson({ account: presentAccount(account), key: secret })
  })
}

export async function listAccounts(args: readonly string[], env: Environment): Promise<boolean> {
  const given = readArguments(args, { values: ['data-dir', 'config'], switches: ['json'] })
  if (given === null) return false
  const { flags, switches } = given
  return withAccounts(flags, env, async ({ accounts }) => {
    const rows = (await accounts.list()).map(accountRow)
    // Prints the same columns as `holdfast accounts`, except usage.
    if (terminalColumns() === null || switches.has('json')) for (const row of rows) printJson(row)
    else print(accountTable(rows, { withHeader: true }))
  })
}

export async function setAccountPlan(args: readonly string[], env: Environment): Promise<boolean> {
  const flags = readFlags(args, ['account', 'email', 'plan', 'data-dir', 'config'])
  if (flags === null) return false
  const idOrEmail = flags.email ?? requireFlag(flags, 'account')
  const plan = requireFlag(flags, 'plan')
  return withAccounts(flags, env, async handle => {
    const account = await handle.accounts.setPlan((await findAccount(handle, idOrEmail)).id, plan)
    printJson({ account: presentAccount(account) })
  })
}

export function setAccountPassword(args: readonly string[], env: Environment): Promise<boolean> {
  return withAccount(args, env, async ({ accounts }, account) => {
    await accounts.setPassword(account.id, await readPassword())
    return { account: presentAccount(account), passwordSet: true }
  })
}

export function makePasswordLink(args: readonly string[], env: Environment): Promise<boolean> {
  return withAccount(args, env, async ({ accounts }, account, flags) => {
    const { host, port, config } = readServerSettings(flags, env)
    const { token, expiresAt } = await accounts.makePasswordLink(account.id)
    const link = passwordLinkUrl(consoleUrl(config.publicUrl, localUrl(host, port)), token)
    return { account: presentAccount(account), link, expiresAt: isoTime(expiresAt) }
  })
}

export async function setIdentity(args: readonly string[], env: Environment): Promise<boolean> {
  const flags = readFlags(args, ['account', 'email', 'subject', 'issuer', 'data-dir', 'config'])
  if (flags === null) return false
  const idOrEmail = flags.email ?? requireFlag(flags, 'account')
  const subject = requireFlag(flags, 'subject')
  const issuer = flags.issuer ?? readServerSettings(flags, env).config.oidc?.issuer ?? requireFlag(flags, 'issuer')
  return withAccounts(flags, env, async handle => {
    const { id } = await findAccount(handle, idOrEmail)
    const account = await handle.accounts.setIdentity(id, { issuer, subject })
    printJson({ account: presentAccount(account), identity: { issuer, subject } })
  })
}

export function disableSecondFactor(args: readonly string[], env: Environment): Promise<boolean> {
  return withAccount(args, env, async ({ secondFactor }, account) => {
    return { account: presentAccount(account), disabled: await secondFactor.disable(account.id) }
  })
}

export function disableAccount(args: readonly string[], env: Environment): Promise<boolean> {
  return withAccount(args, env, async ({ accounts }, { id }) => {
    const account = await accounts.setDisabled(id, true)
    return { account: presentAccount(account), disabled: true }
  })
}

export function enableAccount(args: readonly string[], env: Environment): Promise<boolean> {
  return withAccount(args, env, async ({ accounts }, { id }) => {
    const account = await accounts.setDisabled(id, false)
    return { account: presentAccount(account), disabled: false }
  })
}

export function deleteAccount(args: readonly string[], env: Environment): Promise<boolean> {
  return withAccount(args, env, async ({ accounts }, account) => {
    await accounts.delete(account.id)
    return { account: presentAccount(account), deleted: true }
  })
}

export function listSessions(args: readonly string[], env: Environment): Promise<boolean> {
  return withAccount(args, env, async ({ sessions }, account) => {
    const listed: object[] = []
    let after: string | null = null
    do {
      const page: Awaited<ReturnType<typeof sessions.list>> = await sessions.list(account.id, { after, limit: 1_000 })
      for (const { id, createdAt, expiresAt } of page.rows) {
        listed.push({ id, createdAt: isoTime(createdAt), expiresAt: isoTime(expiresAt) })
      }
      after = page.next
    } while (after !== null)
    return { account: presentAccount(account), sessions: listed }
  })
}

export function endSessions(args: readonly string[], env: Environment): Promise<boolean> {
  return withAccount(args, env, async ({ sessions }, account) => {
    return { account: presentAccount(account), ended: await sessions.endAll(account.id) }
  })
}

async function withAccount(
  args: readonly string[],
  env: Environment,
  work: (handle: OpenedAccounts, account: Account, flags: Flags<CommonFlag>) => Promise<object>,
): Promise<boolean> {
  const flags = readFlags(args, ['account', 'email', 'data-dir', 'config'])
  if (flags === null) return false
  const idOrEmail = flags.email ?? requireFlag(flags, 'account')
  return withAccounts(flags, env, async handle => {
    printJson(await work(handle, await findAccount(handle, idOrEmail), flags))
  })
}
