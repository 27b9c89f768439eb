import { type Account, type ConnectedAccounts, connectAccounts, HoldfastError } from '../../src/index.ts'
import { serverAdapters } from './server-adapters.ts'
import { type DirectoryFlags, type Environment, readDirectorySettings } from './settings.ts'

export type OpenedAccounts = ConnectedAccounts

export async function withAccounts(
  flags: DirectoryFlags,
  env: Environment,
  work: (handle: OpenedAccounts) => Promise<void>,
): Promise<void> {
  const { adapters, catalogue } = serverAdapters
  const handle = await connectAccounts({ ...readDirectorySettings(flags, env), adapters, catalogue })
  try {
    await work(handle)
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
