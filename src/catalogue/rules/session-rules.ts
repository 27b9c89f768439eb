import { MOST_SESSIONS, type Session, type SessionStore } from '../session-store.ts'
import { account, LIVE_ACCOUNT, LOCKED_ACCOUNT } from './account-rows.ts'
import { deleteSome, FOR_UPDATE, IF_UNLOCKED, SEQ } from './dialect.ts'
import { type CatalogueDriver, first, run } from './driver.ts'
import { pageOf, placeAfter, withPlace } from './row-cursor.ts'
import { columnNames, columns, fragment, sql, valuesOf } from './statement.ts'

/** Maximum number of expired sessions, and of excess sessions, that a sign-in removes. */
const CLEARED_AT_ONCE = 100

const session = columns<Session>({
  id: 'text',
  accountId: 'text',
  createdAt: 'integer',
  expiresAt: 'integer',
  provedAt: 'integer',
})

const SIGNED_IN = sql`
  SELECT ${account} FROM accounts WHERE id = :accountId AND password_hash = :passwordHash AND ${LIVE_ACCOUNT} ${FOR_UPDATE}`
const CLEAR = deleteSome('sessions', fragment`WHERE expires_at <= :now ORDER BY expires_at LIMIT :most ${IF_UNLOCKED}`)
const INSERT = sql`INSERT INTO sessions (${columnNames(session)}) VALUES (${valuesOf(session)})`
const CLEAR_SURPLUS = deleteSome(
  'sessions',
  fragment`WHERE account_id = :accountId ORDER BY created_at DESC, ${SEQ} DESC LIMIT :most OFFSET :kept`,
)
const GET = sql`SELECT ${session} FROM sessions WHERE id = :id`
const PAGE = sql`
  SELECT ${withPlace(session)} FROM sessions
  WHERE account_id = :accountId AND (created_at, ${SEQ}) > (:createdAt, :rowid) AND expires_at > :now
  ORDER BY created_at, ${SEQ} LIMIT :rows`
const PROVE = sql`UPDATE sessions SET proved_at = :at WHERE id = :id AND proved_at IS NOT NULL`
const END = sql`DELETE FROM sessions WHERE id = :id`
export const END_OTHERS = sql`DELETE FROM sessions WHERE account_id = :accountId AND id <> :keep`

export function sessionRules(driver: CatalogueDriver): SessionStore {
  return {
    begin: (begun, { now, passwordHash }) => {
      const { accountId } = begun
      return driver.transaction(
        function* () {
          const owner = yield* first(passwordHash === '' ? LOCKED_ACCOUNT : SIGNED_IN, { accountId, passwordHash })
          if (owner === null) return 'stale'
          if (owner.disabled) return 'disabled'
          yield* run(CLEAR, { now, most: CLEARED_AT_ONCE })
          yield* run(INSERT, begun)
          yield* run(CLEAR_SURPLUS, { accountId, most: CLEARED_AT_ONCE, kept: MOST_SESSIONS })
          return owner
        },
        { lane: accountId },
      )
    },
    get: id => driver.first(GET, { id }),
    list: async (accountId, now, { after, limit }) =>
      pageOf(await driver.all(PAGE, { accountId, now, ...placeAfter(after), rows: limit + 1 }), limit),
    prove: async (id, at) => {
      await driver.run(PROVE, { id, at })
    },
    end: async id => (await driver.run(END, { id })) > 0,
    endAll: (accountId, keep) => driver.run(END_OTHERS, { accountId, keep: keep ?? '' }),
  }
}
