import { type Account, SCOPES } from '../../src/index.ts'
import { accountRow, accountTable, newAccountLines } from './account-lines.ts'
import type { GivenTo } from './all-commands.ts'
import { missingFlag } from './arguments.ts'
import { consoleUrl, passwordLinkUrl } from './console-url.ts'
import { localUrl } from './listener.ts'
import { isoTime, print, printJson, terminalColumns } from './output.ts'
import { readPassword } from './password-input.ts'
import { type Environment, readServerSettings } from './settings.ts'
import { findAccount, type OpenedAccounts, presentAccount, withAccounts } from './with-accounts.ts'

export async function createAccount(given: GivenTo<'account create'>, env: Environment): Promise<void> {
  const { email, plan, name = null } = given.flags
  return withAccounts(given.flags, env, async ({ accounts, keys }) => {
    const account = await accounts.create({ email, plan, name })
    const { secret } = await keys.create(account.id, { name: 'default', scopes: SCOPES })
    if (terminalColumns() === null || given.flags.json) printJson({ account: presentAccount(account), key: secret })
    else print(newAccountLines({ ...presentAccount(account), key: secret }))
  })
}

export async function listAccounts(given: GivenTo<'account list'>, env: Environment): Promise<void> {
  const { flags } = given
  return withAccounts(flags, env, async ({ accounts }) => {
    const rows = (await accounts.list()).map(accountRow)
    // Prints the same columns as `holdfast accounts`, except usage.
    if (terminalColumns() === null || flags.json) for (const row of rows) printJson(row)
    else print(accountTable(rows, { withHeader: true }))
  })
}

export async function setAccountPlan(given: GivenTo<'account set-plan'>, env: Environment): Promise<void> {
  const { account: idOrEmail, plan } = given.flags
  return withAccounts(given.flags, env, async handle => {
    const account = await handle.accounts.setPlan((await findAccount(handle, idOrEmail)).id, plan)
    printJson({ account: presentAccount(account) })
  })
}

export function setAccountVisibility(given: GivenTo<'account set-visibility'>, env: Environment): Promise<void> {
  return withAccount(given, env, async ({ accounts }, { id }, { visibility }) => {
    const account = await accounts.setDefaultVisibility(id, visibility as Account['defaultVisibility'])
    return { account: presentAccount(account), defaultVisibility: account.defaultVisibility }
  })
}

export function setAccountPassword(given: GivenTo<'account set-password'>, env: Environment): Promise<void> {
  return withAccount(given, env, async ({ accounts }, account) => {
    await accounts.setPassword(account.id, await readPassword())
    return { account: presentAccount(account), passwordSet: true }
  })
}

export function makePasswordLink(given: GivenTo<'account password-link'>, env: Environment): Promise<void> {
  return withAccount(given, env, async ({ accounts }, account, flags) => {
    const { host, port, config } = readServerSettings(flags, env)
    const { token, expiresAt } = await accounts.makePasswordLink(account.id)
    const link = passwordLinkUrl(consoleUrl(config.publicUrl, localUrl(host, port)), token)
    return { account: presentAccount(account), link, expiresAt: isoTime(expiresAt) }
  })
}

export async function setIdentity(given: GivenTo<'account set-identity'>, env: Environment): Promise<void> {
  const { flags } = given
  const { account: idOrEmail, subject } = flags
  const issuer = flags.issuer ?? readServerSettings(flags, env).config.oidc?.issuer
  if (issuer === undefined) throw missingFlag('issuer')
  return withAccounts(flags, env, async handle => {
    const { id } = await findAccount(handle, idOrEmail)
    const account = await handle.accounts.setIdentity(id, { issuer, subject })
    printJson({ account: presentAccount(account), identity: { issuer, subject } })
  })
}

export function disableSecondFactor(given: GivenTo<'account disable-2fa'>, env: Environment): Promise<void> {
  return withAccount(given, env, async ({ secondFactor }, account) => {
    return { account: presentAccount(account), disabled: await secondFactor.disable(account.id) }
  })
}

export function disableAccount(given: GivenTo<'account disable'>, env: Environment): Promise<void> {
  return withAccount(given, env, async ({ accounts }, { id }) => {
    const account = await accounts.setDisabled(id, true)
    return { account: presentAccount(account), disabled: true }
  })
}

export function enableAccount(given: GivenTo<'account enable'>, env: Environment): Promise<void> {
  return withAccount(given, env, async ({ accounts }, { id }) => {
    const account = await accounts.setDisabled(id, false)
    return { account: presentAccount(account), disabled: false }
  })
}

export function deleteAccount(given: GivenTo<'account delete'>, env: Environment): Promise<void> {
  return withAccount(given, env, async ({ accounts }, account) => {
    await accounts.delete(account.id)
    return { account: presentAccount(account), deleted: true }
  })
}

export function listSessions(given: GivenTo<'account sessions'>, env: Environment): Promise<void> {
  return withAccount(given, env, async ({ sessions }, account) => {
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

export function endSessions(given: GivenTo<'account end-sessions'>, env: Environment): Promise<void> {
  return withAccount(given, env, async ({ sessions }, account) => {
    return { account: presentAccount(account), ended: await sessions.endAll(account.id) }
  })
}

function withAccount<G extends GivenTo<'account disable'>>(
  { flags }: G,
  env: Environment,
  work: (handle: OpenedAccounts, account: Account, flags: G['flags']) => Promise<object>,
): Promise<void> {
  return withAccounts(flags, env, async handle => {
    printJson(await work(handle, await findAccount(handle, flags.account), flags))
  })
}
