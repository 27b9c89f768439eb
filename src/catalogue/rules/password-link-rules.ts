import type { AccountStore } from '../account-store.ts'
import { LOCKED_ACCOUNT } from './account-rows.ts'
import { type CatalogueDriver, first, run } from './driver.ts'
import { END_OTHERS } from './session-rules.ts'
import { sql } from './statement.ts'

const PUT = sql`
  INSERT INTO password_links (account_id, hash, expires_at) VALUES (:accountId, :hash, :expiresAt)
  ON CONFLICT (account_id) DO UPDATE SET hash = excluded.hash, expires_at = excluded.expires_at`
const FIND = sql<{ accountId: string }>`
  SELECT account_id AS "accountId" FROM password_links WHERE hash = :hash AND expires_at > :now`
const USE = sql`DELETE FROM password_links WHERE hash = :hash`
const SET_PASSWORD = sql`UPDATE accounts SET password_hash = :passwordHash WHERE id = :accountId`
export const DROP_LINK = sql`DELETE FROM password_links WHERE account_id = :accountId`

type LinkStore = Pick<AccountStore, 'putPasswordLink' | 'hasPasswordLink' | 'usePasswordLink'>

/** Returns the store of password links. Each rule that changes a link locks its account first. */
export function passwordLinkRules(driver: CatalogueDriver): LinkStore {
  return {
    putPasswordLink: link =>
      driver.transaction(function* () {
        if ((yield* first(LOCKED_ACCOUNT, link)) === null) return false
        yield* run(PUT, link)
        return true
      }),
    hasPasswordLink: async (hash, now) => (await driver.first(FIND, { hash, now })) !== null,
    usePasswordLink: (hash, passwordHash, now) =>
      driver.transaction(function* () {
        const found = yield* first(FIND, { hash, now })
        if (found === null) return null
        const { accountId } = found
        const account = yield* first(LOCKED_ACCOUNT, { accountId })
        // Another request may have used the link before the lock.
        if (account === null || account.disabled || (yield* run(USE, { hash })) === 0) return null
        yield* run(SET_PASSWORD, { accountId, passwordHash })
        yield* run(END_OTHERS, { accountId, keep: '' })
        return account
      }),
  }
}
