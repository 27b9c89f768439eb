import { HoldfastError } from '../domain/errors.ts'
import type { OwnAccount } from '../pins/requesting-account.ts'
import type { AccessModule } from './access-module.ts'
import type { Setup } from './setup.ts'

/**
 * Returns a function that finds the account of calls without one. With `singleUser` it is the owner. Otherwise it is
 * the only account. If there is no account, the function creates the owner.
 * @throws HoldfastError from the function: `VALIDATION` if the engine has several accounts, or if the caller passed
 * `account: undefined`
 */
export function ownAccountOf({ isSingleUser }: Pick<Setup, 'isSingleUser'>, { accounts }: AccessModule): OwnAccount {
  const owner = async (): Promise<string> => (await accounts.ensureOwner()).account.id
  return async ({ isOmitted }) => {
    if (isSingleUser) return owner()
    if (!isOmitted) throw unnamed('is undefined: pass an id, or omit the field')
    const { accounts: found, total } = await accounts.page(0, 1)
    if (total > 1) throw unnamed(`must be the id of an account, because the engine has ${total} accounts`)
    return found[0]?.id ?? owner()
  }
}

function unnamed(problem: string): HoldfastError {
  return new HoldfastError('VALIDATION', `account ${problem}`)
}
