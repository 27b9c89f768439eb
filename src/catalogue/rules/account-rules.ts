import type { Account, AccountChanges, AccountStore } from '../account-store.ts'
import { coreTables } from '../core-tables.ts'
import type { CatalogueTable } from '../tables.ts'
import { account, LIVE_ACCOUNT, LOCKED_ACCOUNT } from './account-rows.ts'
import { either, SEQ } from './dialect.ts'
import { type CatalogueDriver, first, type Rule, run } from './driver.ts'
import { DROP_IDENTITIES, identityLinkRules } from './identity-link-rules.ts'
import { DROP_LINK, passwordLinkRules } from './password-link-rules.ts'
import { pageOf, placeAfter, withPlace } from './row-cursor.ts'
import { DROP_CODES, DROP_FACTOR } from './second-factor-rules.ts'
import { END_OTHERS } from './session-rules.ts'
import { columnNames, fragment, sql, valuesOf } from './statement.ts'

/** Column by which emails are compared without case. */
const EMAIL = either('email', 'email_key')
const SET_EMAIL = fragment`email = :email${either('', ', email_key = :emailKey')}`
/** Key of the advisory lock for rules that can remove an owner. At least one owner must remain. */
const OWNERS_LOCK = 0x4f574e52

export const INSERT_ACCOUNT = sql`
  INSERT INTO accounts (${columnNames(account)}, password_hash${either('', ', email_key')})
  VALUES (${valuesOf(account)}, :passwordHash${either('', ', :emailKey')}) ON CONFLICT (${EMAIL}) DO NOTHING`
const GET = sql`SELECT ${account} FROM accounts WHERE id = :id AND ${LIVE_ACCOUNT}`
const GIVE_OWNER = sql`UPDATE accounts SET owner = :owner WHERE id = :id AND owner IS NULL`
const BY_EMAIL = sql`SELECT ${account} FROM accounts WHERE ${EMAIL} = :emailKey AND ${LIVE_ACCOUNT}`
const OWNER = sql`
  SELECT ${account} FROM accounts WHERE role = 'owner' AND ${LIVE_ACCOUNT} ORDER BY created_at, ${SEQ} LIMIT 1`
const OTHER_OWNER = sql`
  SELECT 1 FROM accounts WHERE role = 'owner' AND ${LIVE_ACCOUNT} AND NOT disabled AND id <> :id LIMIT 1`
const LOCK_OWNERS = sql`${either('', 'SELECT pg_advisory_xact_lock(:lock)')}`
const PAGE = sql`
  SELECT ${withPlace(account)} FROM accounts WHERE ${LIVE_ACCOUNT} AND (created_at, ${SEQ}) > (:createdAt, :rowid)
  ORDER BY created_at, ${SEQ} LIMIT :rows`
const SLICE = sql`
  SELECT ${account} FROM accounts WHERE ${LIVE_ACCOUNT} ORDER BY created_at, ${SEQ} LIMIT :rows OFFSET :offset`
const SLICE_FROM_END = sql`
  SELECT ${account} FROM accounts WHERE ${LIVE_ACCOUNT} ORDER BY created_at DESC, ${SEQ} DESC LIMIT :rows OFFSET :offset`
const COUNT = sql<{ count: number }>`SELECT COUNT(*) AS count FROM accounts WHERE ${LIVE_ACCOUNT}`
const CHANGE = sql`
  UPDATE accounts SET ${SET_EMAIL}, name = :name, plan = :plan, default_cluster = :defaultCluster,
    default_visibility = :defaultVisibility, disabled = :disabled
  WHERE id = :id`
const PASSWORD_HASH = sql<{ passwordHash: string | null }>`
  SELECT password_hash AS "passwordHash" FROM accounts WHERE id = :id AND ${LIVE_ACCOUNT}`
const SET_PASSWORD = sql`UPDATE accounts SET password_hash = :hash WHERE id = :id AND ${LIVE_ACCOUNT}`
const REPLACE_PASSWORD = sql`
  UPDATE accounts SET password_hash = :hash WHERE id = :id AND password_hash = :former AND ${LIVE_ACCOUNT}`
const MARK_DELETED = sql`
  UPDATE accounts SET deleted_at = :now, ${SET_EMAIL}, name = NULL, password_hash = NULL, disabled = TRUE
  WHERE id = :id`
const DELETED = sql<{ id: string }>`
  SELECT id FROM accounts WHERE deleted_at IS NOT NULL ORDER BY deleted_at LIMIT :limit`
const FORGET = sql`
  DELETE FROM accounts WHERE id = :id AND deleted_at IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM api_keys WHERE account_id = accounts.id)
    AND NOT EXISTS (SELECT 1 FROM sessions WHERE account_id = accounts.id)
    AND NOT EXISTS (SELECT 1 FROM records WHERE account_id = accounts.id)`

export function accountRules(driver: CatalogueDriver): AccountStore {
  return {
    insert: async (added, passwordHash) => {
      const params = { ...added, emailKey: emailKey(added.email), passwordHash }
      return (await driver.run(INSERT_ACCOUNT, params)) > 0 ? 'inserted' : 'email_taken'
    },
    get: id => driver.first(GET, { id }),
    findByEmail: email => driver.first(BY_EMAIL, { emailKey: emailKey(email) }),
    findOwner: () => driver.first(OWNER),
    list: async ({ after, limit }) => pageOf(await driver.all(PAGE, { ...placeAfter(after), rows: limit + 1 }), limit),
    slice: (offset, limit) => slice(driver, Math.max(0, offset), limit),
    change: (id, changes) => driver.transaction(() => change(id, changes)),
    giveOwner: async (id, owner) => void (await driver.run(GIVE_OWNER, { id, owner })),
    passwordHash: async id => (await driver.first(PASSWORD_HASH, { id }))?.passwordHash ?? null,
    setPassword: (id, hash, keepSession) =>
      driver.transaction(function* () {
        if ((yield* run(SET_PASSWORD, { id, hash })) === 0) return false
        yield* run(END_OTHERS, { accountId: id, keep: keepSession ?? '' })
        yield* run(DROP_LINK, { accountId: id })
        return true
      }),
    ...passwordLinkRules(driver),
    ...identityLinkRules(driver),
    replacePassword: async (id, former, hash) => (await driver.run(REPLACE_PASSWORD, { id, former, hash })) > 0,
    markDeleted: (id, now) => driver.transaction(() => markDeleted(id, now)),
    deleted: async limit => (await driver.all(DELETED, { limit })).map(({ id }) => id),
    purge: (id, limit) => purgeTables(driver, coreTables, { id, limit }),
    forget: async id => (await driver.run(FORGET, { id })) > 0,
  }
}

export function emailKey(email: string): string {
  return email.replace(/[A-Z]/g, letter => letter.toLowerCase())
}

async function slice(driver: CatalogueDriver, offset: number, limit: number): ReturnType<AccountStore['slice']> {
  const total = (await driver.first(COUNT))?.count ?? 0
  const rows = Math.max(0, Math.min(limit, total - offset))
  if (rows === 0) return { rows: [], total }
  // The database reads all skipped rows, so read the list from the nearer end.
  const behind = total - offset - rows
  if (offset <= behind) return { rows: await driver.all(SLICE, { rows, offset }), total }
  return { rows: (await driver.all(SLICE_FROM_END, { rows, offset: behind })).reverse(), total }
}

function* change(id: string, changes: AccountChanges): Rule<Account | 'no_account' | 'email_taken' | 'last_owner'> {
  if (changes.disabled === true) yield* first(LOCK_OWNERS, { lock: OWNERS_LOCK })
  const before = yield* first(LOCKED_ACCOUNT, { accountId: id })
  if (before === null) return 'no_account'
  const after = { ...before, ...changes }
  const holder = yield* first(BY_EMAIL, { emailKey: emailKey(after.email) })
  if (holder !== null && holder.id !== id) return 'email_taken'
  if (after.disabled && (yield* isLastOwner(before))) return 'last_owner'
  yield* run(CHANGE, { ...after, emailKey: emailKey(after.email) })
  return after
}

function* markDeleted(id: string, now: number): Rule<'marked' | 'no_account' | 'last_owner'> {
  yield* first(LOCK_OWNERS, { lock: OWNERS_LOCK })
  const before = yield* first(LOCKED_ACCOUNT, { accountId: id })
  if (before === null) return 'no_account'
  if (yield* isLastOwner(before)) return 'last_owner'
  // The former email becomes free. No sign-up can use this text as an email.
  const email = `deleted ${id}`
  yield* run(MARK_DELETED, { id, now, email, emailKey: email })
  yield* first(DROP_FACTOR, { accountId: id })
  yield* run(DROP_CODES, { accountId: id })
  yield* run(DROP_LINK, { accountId: id })
  yield* run(DROP_IDENTITIES, { accountId: id })
  return 'marked'
}

function* isLastOwner({ id, role, disabled }: Account): Rule<boolean> {
  return role === 'owner' && !disabled && (yield* first(OTHER_OWNER, { id })) === null
}

/** Removes some rows of an account that is marked as deleted, and returns whether there may be more. */
export function purgeTables(
  driver: CatalogueDriver,
  tables: readonly CatalogueTable[],
  { id, limit }: { id: string; limit: number },
): Promise<boolean> {
  return driver.transaction(function* () {
    if ((yield* first(GET, { id })) !== null) return false
    let isMore = false
    for (const { purge } of tables) {
      if (purge === undefined) continue
      const most = purge.most ?? limit
      isMore = (yield* run(purge.rows, { id, limit: most })) === most || isMore
    }
    return isMore
  })
}
