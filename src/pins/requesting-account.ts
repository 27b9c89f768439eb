import { HoldfastError } from '../domain/errors.ts'

/** A call that may name the account for which it is made. */
export interface Requesting {
  /** Default: the only account of the engine, or the owner if `singleUser` is set. */
  account?: string | undefined
}

/**
 * Returns the account of calls without one. `isOmitted` is false if the caller passed `account: undefined`.
 * @throws HoldfastError `VALIDATION` if the call must name an account
 */
export type OwnAccount = (call: { isOmitted: boolean }) => Promise<string>

/** Returns the call with its account. @throws HoldfastError `VALIDATION` if the call must name an account */
export async function withAccount<R extends Requesting>(request: R, ownAccount: OwnAccount): Promise<R> {
  if (request.account !== undefined) return request
  // `account: user?.id` of a missing user must not reach the content of the only account.
  return { ...request, account: await ownAccount({ isOmitted: !Object.hasOwn(request, 'account') }) }
}

/** Returns the account of a call. @throws HoldfastError `VALIDATION` if the call must name an account */
export async function accountOf(request: Requesting, ownAccount: OwnAccount): Promise<string> {
  const { account } = await withAccount(request, ownAccount)
  if (typeof account === 'string') return account
  throw new HoldfastError('VALIDATION', 'account must be the id of an account')
}
