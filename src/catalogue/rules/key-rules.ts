import {
  consoleKeyName,
  EXPIRED_KEYS_KEPT,
  isConsoleKey,
  type KeyRefusal,
  type KeyRow,
  type KeyStore,
  type NewKeyRow,
} from '../key-store.ts'
import { LOCKED_ACCOUNT } from './account-rows.ts'
import { deleteSome, either, FOR_UPDATE, SEQ } from './dialect.ts'
import { type CatalogueDriver, first, type Rule, run } from './driver.ts'
import { pageOf, placeAfter, withPlace } from './row-cursor.ts'
import { columnNames, columns, fragment, sql, valuesOf } from './statement.ts'

/** Maximum number of expired keys that one insertion removes. */
const CLEARED_AT_ONCE = 100

const newKey = columns<NewKeyRow>({
  id: 'text',
  accountId: 'text',
  parentId: 'text',
  name: 'text',
  label: 'text',
  hash: 'bytes',
  prefix: 'text',
  scopes: 'json',
  ipAllowlist: 'json',
  createdAt: 'integer',
  expiresAt: 'integer',
  lastUsedAt: 'integer',
  upload: 'json',
})
const key = columns<KeyRow>({
  ...newKey.kinds,
  parent: ['text', '(SELECT p.name FROM api_keys p WHERE p.id = k.parent_id)'],
  uses: 'integer',
})

/** Condition on the kind of a key. Each database has an index on exactly this expression. */
const OF_KIND = either('(max_uses IS NULL) = NOT :isToken', 'is_token = :isToken')

const BY_HASH = sql`SELECT ${key} FROM api_keys k WHERE hash = :hash`
const BY_NAME = sql`SELECT ${key} FROM api_keys k WHERE account_id = :accountId AND name = :name`
const PAGE = sql`
  SELECT ${withPlace(key)} FROM api_keys k
  WHERE account_id = :accountId AND ${OF_KIND} AND (created_at, ${SEQ}) > (:createdAt, :rowid)
  ORDER BY created_at, ${SEQ} LIMIT :rows`
const LIVE_PARENT = sql`
  SELECT 1 FROM api_keys WHERE id = :parentId AND account_id = :accountId AND (expires_at IS NULL OR expires_at > :now)`
/** The condition of `isConsoleKey`. Such a key always expires. */
const IS_OF_CONSOLE = "substr(name || '-', 1, length(parent_id) + 9) = 'console-' || parent_id || '-'"
const ofKind = (expiry: string) =>
  fragment`(SELECT 1 FROM api_keys WHERE account_id = :accountId AND ${OF_KIND} AND ${expiry} LIMIT :maxKeys) AS live`
/** Counts keys that never expire, and live keys with an expiry. Each part reads one range of the index. */
const COUNT_LIVE = sql<{ count: number }>`
  SELECT (SELECT COUNT(*) FROM ${ofKind('expires_at IS NULL')})
    + (SELECT COUNT(*) FROM ${ofKind(`expires_at > :now AND (parent_id IS NULL OR NOT ${IS_OF_CONSOLE})`)}) AS count`
/** The console keys of a parent, found by the range of their names. */
const CONSOLE_KEYS = `account_id = :accountId AND name >= :from AND name < :to AND parent_id = :parentId AND ${IS_OF_CONSOLE}`
const COUNT_CONSOLE = sql<{ count: number }>`
  SELECT COUNT(*) AS count FROM api_keys WHERE ${CONSOLE_KEYS} AND expires_at > :now`
const REVOKE_CONSOLE = sql`DELETE FROM api_keys WHERE ${CONSOLE_KEYS}`
const INSERT = sql`
  INSERT INTO api_keys (${columnNames(newKey)}, max_uses${either('', ', is_token')})
  VALUES (${valuesOf(newKey)}, :maxUses${either('', ', :isToken')})`
const DELETE = sql`DELETE FROM api_keys WHERE id = :id`
const CLEAR = deleteSome(
  'api_keys',
  fragment`WHERE account_id = :accountId AND ${OF_KIND} AND expires_at <= :now
    ORDER BY expires_at DESC LIMIT :most OFFSET :kept`,
)
const ROTATE = sql`
  UPDATE api_keys SET hash = :hash, prefix = :prefix, scopes = :scopes, ip_allowlist = :ipAllowlist,
    expires_at = :expiresAt, parent_id = NULL
  WHERE id = :id`
/**
 * Locks the account of a key, so that the key cannot create another key meanwhile. Also finds an account that is marked
 * as deleted.
 */
const LOCKED_OWNER = sql`
  SELECT 1 FROM accounts WHERE id = (SELECT account_id FROM api_keys WHERE id = :id) ${FOR_UPDATE}`
const REVOKE = sql`
  WITH RECURSIVE minted (id) AS (
    SELECT id FROM api_keys WHERE id = :id
    UNION SELECT k.id FROM minted JOIN api_keys k ON k.parent_id = minted.id)
  DELETE FROM api_keys WHERE id IN (SELECT id FROM minted)`
const NOTE_USE = sql`UPDATE api_keys SET last_used_at = :at WHERE id = :id`
/** A key of a version before 0.4.0 has no proof but its creation. */
const PROVED_AT = sql<{ at: number }>`SELECT COALESCE(proved_at, created_at) AS at FROM api_keys WHERE id = :id`
const PROVE = sql`UPDATE api_keys SET proved_at = :at WHERE id = :id`
const USES = sql<{ uses: number }>`SELECT uses FROM api_keys WHERE id = :id AND max_uses IS NOT NULL`

/** Rules that insert or remove keys lock the account first. */
export function keyRules(driver: CatalogueDriver): KeyStore {
  return {
    insert: (added, limits) => driver.transaction(() => insert(added, limits), { lane: added.accountId }),
    adopt: adopted => driver.transaction(() => adopt(adopted), { lane: adopted.accountId }),
    findByHash: hash => driver.first(BY_HASH, { hash }),
    findByName: (accountId, name) => driver.first(BY_NAME, { accountId, name }),
    list: async (accountId, { after, limit, isUpload: isToken = false }) =>
      pageOf(await driver.all(PAGE, { accountId, isToken, ...placeAfter(after), rows: limit + 1 }), limit),
    uses: async id => (await driver.first(USES, { id }))?.uses ?? null,
    provedAt: async id => (await driver.first(PROVED_AT, { id }))?.at ?? null,
    prove: async (id, at) => {
      await driver.run(PROVE, { id, at })
    },
    revoke: id =>
      driver.transaction(function* () {
        yield* first(LOCKED_OWNER, { id })
        return yield* run(REVOKE, { id })
      }),
    revokeConsole: (accountId, parentId) =>
      driver.transaction(
        function* () {
          yield* first(LOCKED_ACCOUNT, { accountId })
          return yield* run(REVOKE_CONSOLE, consoleKeysOf(accountId, parentId))
        },
        { lane: accountId },
      ),
    noteUse: async (id, at) => {
      await driver.run(NOTE_USE, { id, at }, { durable: false })
    },
  }
}

function* insert(
  added: NewKeyRow,
  { now, maxKeys }: { now: number; maxKeys: number | null },
): Rule<'inserted' | KeyRefusal> {
  const { accountId, parentId, name } = added
  const isToken = added.upload !== null
  if ((yield* first(LOCKED_ACCOUNT, { accountId })) === null) return 'no_account'
  if (parentId !== null && (yield* first(LIVE_PARENT, { parentId, accountId, now })) === null) return 'no_parent'
  const former = yield* first(BY_NAME, { accountId, name })
  if (former !== null && (former.expiresAt === null || former.expiresAt > now)) return 'name_taken'
  if (maxKeys !== null) {
    const live =
      parentId !== null && isConsoleKey(added)
        ? yield* first(COUNT_CONSOLE, { ...consoleKeysOf(accountId, parentId), now })
        : yield* first(COUNT_LIVE, { accountId, isToken, now, maxKeys })
    if ((live?.count ?? 0) >= maxKeys) return 'too_many'
  }
  if (former !== null) yield* run(DELETE, { id: former.id })
  yield* put(added)
  yield* run(CLEAR, { accountId, isToken, now, most: CLEARED_AT_ONCE, kept: EXPIRED_KEYS_KEPT })
  return 'inserted'
}

/**
 * Returns the range of names of a key's console keys. It begins with the name that versions before 0.4.0 gave. It ends
 * before `.`, which follows `-` in the order of names in both databases.
 */
function consoleKeysOf(accountId: string, parentId: string) {
  const start = consoleKeyName(parentId, '').slice(0, -1)
  return { accountId, parentId, from: start, to: `${start}.` }
}

function* adopt(adopted: NewKeyRow): Rule<KeyRow> {
  yield* first(LOCKED_ACCOUNT, adopted)
  const same = yield* first(BY_HASH, adopted)
  if (same !== null) return same
  const former = yield* first(BY_NAME, adopted)
  if (former === null) {
    yield* put(adopted)
    return { ...adopted, parent: null, uses: 0 }
  }
  yield* run(ROTATE, { ...adopted, id: former.id })
  const { hash, prefix, scopes, ipAllowlist, expiresAt } = adopted
  return { ...former, hash, prefix, scopes, ipAllowlist, expiresAt, parentId: null, parent: null }
}

function put(added: NewKeyRow): Rule<number> {
  return run(INSERT, { ...added, maxUses: added.upload?.maxUses ?? null, isToken: added.upload !== null })
}
