import { type Account, type ConnectedAccounts, connectAccounts, HoldfastError } from '../../src/index.ts'
import { printJson } from './output.ts'
import { serverAdapters } from './server-adapters.ts'
import { type DirectoryFlags, type Environment, readDirectorySettings } from './settings.ts'

export type OpenedAccounts = ConnectedAccounts

/** Returns a command on the accounts and keys of a data directory. */
export function accountsCommand<G extends { flags: DirectoryFlags }>(
  work: (handle: OpenedAccounts, flags: G['flags'], env: Environment) => Promise<void>,
): (given: G, env: Environment) => Promise<void> {
  return async ({ flags }, env) => {
    const { adapters, catalogue } = serverAdapters
    const handle = await connectAccounts({ ...readDirectorySettings(flags, env), adapters, catalogue })
    try {
      await work(handle, flags, env)
    } finally {
      await handle.close()
    }
  }
}

/** Returns a command on one account. Prints what the work returns, unless it has printed a table. */
export function accountCommand<G extends { flags: DirectoryFlags & { account: string } }>(
  work: (handle: OpenedAccounts, account: Account, flags: G['flags'], env: Environment) => Promise<object | null>,
): (given: G, env: Environment) => Promise<void> {
  return accountsCommand<G>(async (handle, flags, env) => {
    const account = await handle.accounts.find(flags.account)
    if (account === undefined) throw new HoldfastError('NOT_FOUND', `there is no account ${flags.account}`)
    const answer = await work(handle, account, flags, env)
    if (answer !== null) printJson(answer)
  })
}

export function presentAccount({ id, email, plan }: Account): Pick<Account, 'id' | 'email' | 'plan'> {
  return { id, email, plan }
}
