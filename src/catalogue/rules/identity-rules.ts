import type { Account, IdentityKey } from '../account-store.ts'
import type { DueIdentity, IdentityStore, StoredRefresh } from '../identity-store.ts'
import { LOCKED_ACCOUNT } from './account-rows.ts'
import { emailKey, INSERT_ACCOUNT } from './account-rules.ts'
import { IF_UNLOCKED } from './dialect.ts'
import { all, type CatalogueDriver, first, type Rule, run } from './driver.ts'
import { columns, sql } from './statement.ts'

const due = columns<DueIdentity>({ issuer: 'text', subject: 'text', token: ['bytes', 'refresh_token'] })

const CLAIM = sql`
  INSERT INTO identities (issuer, subject, account_id, confirmed_at, refresh_token, refresh_at)
  VALUES (:issuer, :subject, :accountId, :now, :token, :at)
  ON CONFLICT (issuer, subject) DO UPDATE SET confirmed_at = excluded.confirmed_at,
    refresh_token = COALESCE(excluded.refresh_token, identities.refresh_token),
    refresh_at = COALESCE(excluded.refresh_at, identities.refresh_at)`
const FIND = sql<{ accountId: string }>`
  SELECT account_id AS "accountId" FROM identities WHERE issuer = :issuer AND subject = :subject`
const UNCLAIM = sql`DELETE FROM identities WHERE issuer = :issuer AND subject = :subject`
const SET_PLAN = sql`UPDATE accounts SET plan = :plan WHERE id = :accountId`
const DUE = sql<DueIdentity>`
  SELECT ${due} FROM identities WHERE refresh_at <= :now ORDER BY refresh_at LIMIT :limit ${IF_UNLOCKED}`
const LEASE = sql`UPDATE identities SET refresh_at = :until WHERE issuer = :issuer AND subject = :subject`
const REFRESHED = sql<{ accountId: string }>`
  UPDATE identities SET confirmed_at = :now, refresh_token = :replacement, refresh_at = :at
  WHERE issuer = :issuer AND subject = :subject AND refresh_token = :token RETURNING account_id AS "accountId"`
const REVOKED = sql<{ accountId: string }>`
  UPDATE identities SET confirmed_at = NULL, refresh_token = NULL, refresh_at = NULL
  WHERE issuer = :issuer AND subject = :subject AND refresh_token = :token RETURNING account_id AS "accountId"`
const END_SHORT = sql`DELETE FROM sessions WHERE account_id = :accountId AND expires_at <= created_at + :life`
const STALE = sql<{ accountId: string }>`
  SELECT account_id AS "accountId" FROM identities WHERE confirmed_at < :before
  ORDER BY confirmed_at LIMIT :limit ${IF_UNLOCKED}`
const LAPSED = sql`UPDATE identities SET confirmed_at = NULL WHERE account_id = :accountId`

export function identityRules(driver: CatalogueDriver): IdentityStore {
  return {
    confirm: (identity, fresh, now, refresh) =>
      driver.transaction(() =>
        confirm(identity, fresh, { now, token: refresh?.token ?? null, at: refresh?.at ?? null }),
      ),
    accountOf: async ({ issuer, subject }) => (await driver.first(FIND, { issuer, subject }))?.accountId ?? null,
    takeDue: (now, until, limit) =>
      driver.transaction(function* () {
        const taken = yield* all(DUE, { now, limit })
        for (const { issuer, subject } of taken) yield* run(LEASE, { issuer, subject, until })
        return taken
      }),
    refreshed: (taken, plan, now, { token: replacement, at }) =>
      driver.transaction(function* () {
        const found = yield* first(REFRESHED, { ...taken, now, replacement, at })
        if (found !== null) yield* run(SET_PLAN, { ...found, plan })
        return found !== null
      }),
    revoke: (taken, plan, life) =>
      driver.transaction(function* () {
        const found = yield* first(REVOKED, taken)
        if (found === null) return false
        yield* run(SET_PLAN, { ...found, plan })
        yield* run(END_SHORT, { ...found, life })
        return true
      }),
    lapse: (before, plan, limit) =>
      driver.transaction(function* () {
        const stale = yield* all(STALE, { before, limit })
        for (const { accountId } of stale) {
          yield* run(SET_PLAN, { accountId, plan })
          yield* run(LAPSED, { accountId })
        }
        return stale.length
      }),
  }
}

function* confirm(
  identity: IdentityKey,
  fresh: Account,
  confirmed: { now: number } & { [Field in keyof StoredRefresh]: StoredRefresh[Field] | null },
): Rule<Account | 'email_taken'> {
  const { issuer, subject } = identity
  // This locks the row, so a concurrent first sign-in waits and finds the account.
  yield* run(CLAIM, { issuer, subject, accountId: fresh.id, ...confirmed })
  const accountId = (yield* first(FIND, { issuer, subject }))?.accountId ?? fresh.id
  if (accountId === fresh.id) {
    const params = { ...fresh, emailKey: emailKey(fresh.email), passwordHash: null }
    if ((yield* run(INSERT_ACCOUNT, params)) > 0) return fresh
    yield* run(UNCLAIM, { issuer, subject })
    return 'email_taken'
  }
  yield* run(SET_PLAN, { accountId, plan: fresh.plan })
  const account = yield* first(LOCKED_ACCOUNT, { accountId })
  // A deletion drops the identity in its own transaction, so the account exists.
  return account ?? fresh
}
