import { SCOPES } from '../../../src/index.ts'
import { readFlags, requireFlag } from './arguments.ts'
import { isoTime, printJson } from './output.ts'
import { readPassword } from './password-input.ts'
import type { Environment } from './settings.ts'
import { findAccount, presentAccount, withAccounts } from './with-accounts.ts'

/** `account create`. */
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

/** `account list`. */
export async function listAccounts(args: readonly string[], env: Environment): Promise<boolean> {
  const flags = readFlags(args, ['data-dir', 'config'])
  if (flags === null) return false
  return withAccounts(flags, env, async ({ accounts }) => {
    const rows = (await accounts.list()).map(account => ({
      ...presentAccount(account),
      name: account.name,
      role: account.role,
      disabled: account.disabled,
      createdAt: isoTime(account.createdAt),
    }))
    printJson({ accounts: rows })
  })
}

/** `account set-plan`. */
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

/** `account set-password`. */
export async function setAccountPassword(args: readonly string[], env: Environment): Promise<boolean> {
  const flags = readFlags(args, ['account', 'email', 'data-dir', 'config'])
  if (flags === null) return false
  const idOrEmail = flags.email ?? requireFlag(flags, 'account')
  return withAccounts(flags, env, async handle => {
    const account = await findAccount(handle, idOrEmail)
    await handle.accounts.setPassword(account.id, await readPassword())
    printJson({ account: presentAccount(account), passwordSet: true })
  })
}

/** `account disable-2fa`. */
export async function disableSecondFactor(args: readonly string[], env: Environment): Promise<boolean> {
  const flags = readFlags(args, ['account', 'email', 'data-dir', 'config'])
  if (flags === null) return false
  const idOrEmail = flags.email ?? requireFlag(flags, 'account')
  return withAccounts(flags, env, async handle => {
    const account = await findAccount(handle, idOrEmail)
    const disabled = await handle.secondFactor.disable(account.id)
    printJson({ account: presentAccount(account), disabled })
  })
}
