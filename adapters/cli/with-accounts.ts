import { type Account, type ConnectedAccounts, connectAccounts, HoldfastError } from '../../src/index.ts'
import type { CommonFlag, Flags } from './arguments.ts'
import { serverAdapters } from './server-adapters.ts'
import { type Environment, readDirectorySettings } from './settings.ts'

export type OpenedAccounts = ConnectedAccounts

export async function withAccounts(
  flags: Flags<CommonFlag>,
  env: Environment,
  work: (handle: OpenedAccounts) => Promise<void>,
): Promise<true> {
  const { adapters, catalogue } = serverAdapters
  const handle = await connectAccounts({ ...readDirectorySettings(flags, env), adapters, catalogue })
  try {
    await work(handle)
    return true
  } finally {
    await handle.close()
  }
}

export async function findAccount({ accounts }: OpenedAccounts, idOrEmail: string): Promise<Account> {
  const account = await accounts.find(idOrEmail)
  if (account === undefined) throw new HoldfastError('NOT_FOUND', `there is no account ${idOrEmail}`)
  return account
}

export function presentAccount({ id, email, plan }: Account): Pick<Account, 'id' | 'email' | 'plan'> {
  return { id, email, plan }
}
