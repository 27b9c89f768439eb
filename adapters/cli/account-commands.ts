import { type Account, SCOPES } from '../../src/index.ts'
import { accountRow, accountTable, newAccountLines } from './account-lines.ts'
import type { GivenTo } from './all-commands.ts'
import { missingFlag } from './arguments.ts'
import { consoleUrl, passwordLinkUrl } from './console-url.ts'
import { localUrl } from './listener.ts'
import { isoTime, print, printJson, printRows, terminalColumns } from './output.ts'
import { readPassword } from './password-input.ts'
import { type Environment, readServerSettings } from './settings.ts'
import { accountCommand, accountsCommand, presentAccount } from './with-accounts.ts'

export const createAccount = accountsCommand<GivenTo<'account create'>>(async ({ accounts, keys }, flags) => {
  const { email, plan, name = null } = flags
  const account = await accounts.create({ email, plan, name })
  const { secret } = await keys.create(account.id, { name: 'default', scopes: SCOPES })
  if (terminalColumns() === null || flags.json) printJson({ account: presentAccount(account), key: secret })
  else print(newAccountLines({ ...presentAccount(account), key: secret }))
})

export const listAccounts = accountsCommand<GivenTo<'account list'>>(async ({ accounts }, flags) => {
  const rows = (await accounts.list()).map(accountRow)
  // Prints the same columns as `holdfast accounts`, except usage.
  printRows(rows, terminalColumns() === null || flags.json, () => accountTable(rows, { withHeader: true }))
})

export const setAccountPlan = accountCommand<GivenTo<'account set-plan'>>(async ({ accounts }, { id }, { plan }) => {
  return { account: presentAccount(await accounts.setPlan(id, plan)) }
})

export const setAccountVisibility = accountCommand<GivenTo<'account set-visibility'>>(
  async ({ accounts }, { id }, { visibility }) => {
    const account = await accounts.setDefaultVisibility(id, visibility as Account['defaultVisibility'])
    return { account: presentAccount(account), defaultVisibility: account.defaultVisibility }
  },
)

export const setAccountPassword = accountCommand<GivenTo<'account set-password'>>(async ({ accounts }, account) => {
  await accounts.setPassword(account.id, await readPassword())
  return { account: presentAccount(account), passwordSet: true }
})

export const makePasswordLink = accountCommand<GivenTo<'account password-link'>>(
  async ({ accounts }, account, flags, env) => {
    const { host, port, config } = readServerSettings(flags, env)
    const { token, expiresAt } = await accounts.makePasswordLink(account.id)
    const link = passwordLinkUrl(consoleUrl(config.publicUrl, localUrl(host, port)), token)
    return { account: presentAccount(account), link, expiresAt: isoTime(expiresAt) }
  },
)

export async function setIdentity(given: GivenTo<'account set-identity'>, env: Environment): Promise<void> {
  const { flags } = given
  const { subject } = flags
  const issuer = flags.issuer ?? readServerSettings(flags, env).config.oidc?.issuer
  if (issuer === undefined) throw missingFlag('issuer')
  const set = accountCommand<typeof given>(async ({ accounts }, { id }) => {
    const account = await accounts.setIdentity(id, { issuer, subject })
    return { account: presentAccount(account), identity: { issuer, subject } }
  })
  return set(given, env)
}

export const disableSecondFactor = accountCommand<GivenTo<'account disable-2fa'>>(async ({ secondFactor }, account) => {
  return { account: presentAccount(account), disabled: await secondFactor.disable(account.id) }
})

export const disableAccount = accountCommand<GivenTo<'account disable'>>(async ({ accounts }, { id }) => {
  const account = await accounts.setDisabled(id, true)
  return { account: presentAccount(account), disabled: true }
})

export const enableAccount = accountCommand<GivenTo<'account enable'>>(async ({ accounts }, { id }) => {
  const account = await accounts.setDisabled(id, false)
  return { account: presentAccount(account), disabled: false }
})

export const deleteAccount = accountCommand<GivenTo<'account delete'>>(async ({ accounts }, account) => {
  await accounts.delete(account.id)
  return { account: presentAccount(account), deleted: true }
})

export const listSessions = accountCommand<GivenTo<'account sessions'>>(async ({ sessions }, account) => {
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

export const endSessions = accountCommand<GivenTo<'account end-sessions'>>(async ({ sessions }, account) => {
  return { account: presentAccount(account), ended: await sessions.endAll(account.id) }
})
