import type { AccountStore } from '../account-store.ts'
import { LOCKED_ACCOUNT } from './account-rows.ts'
import { type CatalogueDriver, first, run } from './driver.ts'
import { sql } from './statement.ts'

export const DROP_IDENTITIES = sql`DELETE FROM identities WHERE account_id = :accountId`
const OWNED = sql<{ accountId: string }>`
  SELECT account_id AS "accountId" FROM identities WHERE issuer = :issuer AND subject = :subject`
/** Keeps the time of the confirmation, so that the plan of the former user still ends. */
const REPLACE = sql`
  UPDATE identities SET issuer = :issuer, subject = :subject, refresh_token = NULL, refresh_at = NULL
  WHERE account_id = :accountId`
const INSERT = sql`INSERT INTO identities (issuer, subject, account_id) VALUES (:issuer, :subject, :accountId)`

export function identityLinkRules(driver: CatalogueDriver): Pick<AccountStore, 'setIdentity'> {
  return {
    setIdentity: (accountId, { issuer, subject }) =>
      driver.transaction(function* () {
        const account = yield* first(LOCKED_ACCOUNT, { accountId })
        if (account === null) return 'no_account'
        if (account.role === 'owner') return 'owner'
        const owned = yield* first(OWNED, { issuer, subject })
        if (owned !== null && owned.accountId !== accountId) return 'taken'
        const given = { issuer, subject, accountId }
        if ((yield* run(REPLACE, given)) === 0) yield* run(INSERT, given)
        return account
      }),
  }
}
