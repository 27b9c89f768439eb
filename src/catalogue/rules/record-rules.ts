import { HoldfastError } from '../../domain/errors.ts'
import type { AccountUsage, RecordRow, Records } from '../records.ts'
import { either, FOR_UPDATE } from './dialect.ts'
import { type CatalogueDriver, first, type Rule, run } from './driver.ts'
import {
  COUNT_EXPIRED,
  COUNTERS,
  GET_RECORD,
  LIVE_RECORD,
  NEWEST_OF_DAG,
  NEXT_EXPIRY,
  RECORDS_OF_DAG,
  record,
  SET_NAMES,
} from './record-statements.ts'
import { type RemovalParts, removalRules } from './removal-rules.ts'
import { columns, sql } from './statement.ts'

/** Number of the account's search list; 0 for SQLite, which stores the number in another table. */
const LIST = either('0', '(SELECT seq FROM accounts WHERE accounts.id = account_id)')
export const withList = columns<RecordRow & { list: number }>({ ...record.kinds, list: ['integer', LIST] })
const RENAMED = sql`
  SELECT ${withList} FROM records WHERE id = :id AND account_id = :accountId AND ${LIVE_RECORD} ${FOR_UPDATE}`
const TAKE_USE = sql`UPDATE api_keys SET uses = uses + 1 WHERE id = :token AND uses < max_uses`
const HAS_TOKEN = sql`
  SELECT 1 FROM api_keys WHERE id = :token AND ${either('max_uses IS NOT NULL', 'is_token')}`
const NONE: AccountUsage = { pins: 0, expiringPins: 0, storedBytes: 0 }

export interface RecordParts extends RemovalParts {
  /** Updates the search words of a record. Returns the values of the columns that searches compare. */
  found(record: RecordRow & { list: number }): object
}

export function recordRules(
  driver: CatalogueDriver,
  parts: RecordParts,
): Omit<Records, 'takesBlocks' | 'commit' | 'setOwner' | 'page' | 'walk'> {
  const createdBy = Number.MAX_SAFE_INTEGER
  return {
    ...removalRules(driver, parts),
    rename: ({ id, accountId, name, meta, now }) =>
      driver.transaction(function* () {
        const before = yield* first(RENAMED, { id, accountId, now })
        if (before === null) return false
        const named = { name: name ?? before.name, customName: name ?? before.customName }
        const after = { ...before, ...named, meta: meta === undefined ? before.meta : meta }
        return (yield* run(SET_NAMES, { ...after, ...parts.found(after) })) > 0
      }),
    get: async id => (await driver.first(GET_RECORD, { id })) ?? undefined,
    ofDag: ({ dag: { codec, multihash }, ...query }) =>
      driver.all(RECORDS_OF_DAG, { ...query, codec, multihash, createdBy }),
    newestOf: async ({ dag: { codec, multihash }, ...query }) =>
      (await driver.first(NEWEST_OF_DAG, { ...query, codec, multihash })) ?? undefined,
    usage: (accountId, now) => driver.read(usageOf(accountId, now)),
    nextExpiry: async () => (await driver.first(NEXT_EXPIRY))?.at ?? null,
  }
}

/**
 * Returns the stored usage of an account, and the number of its expired records that are not removed yet.
 *
 * @param known the stored usage, if the transaction has already read it
 */
export function* countsOf(
  accountId: string,
  now: number,
  known: AccountUsage | null = null,
): Rule<AccountUsage & { expired: number }> {
  const counters = known ?? (yield* first(COUNTERS, { accountId })) ?? NONE
  const found = counters.expiringPins === 0 ? null : yield* first(COUNT_EXPIRED, { accountId, now })
  return { ...counters, expired: found?.count ?? 0 }
}

/** Returns the usage of an account without its expired records. */
export function* usageOf(accountId: string, now: number, known: AccountUsage | null = null): Rule<AccountUsage> {
  const { pins, expiringPins, storedBytes, expired } = yield* countsOf(accountId, now, known)
  return { pins: pins - expired, expiringPins: expiringPins - expired, storedBytes }
}

/**
 * Counts one use of an upload token.
 *
 * @throws HoldfastError `QUOTA_EXCEEDED` if the token has no use left; `INVALID_API_KEY` if the token no longer exists
 */
export function* takeUse(token: string): Rule<void> {
  if ((yield* run(TAKE_USE, { token })) === 1) return
  throw usedUp((yield* first(HAS_TOKEN, { token })) !== null)
}

/** Returns the error for an upload token that has no use left, or no longer exists. */
export function usedUp(exists: boolean): HoldfastError {
  return exists
    ? new HoldfastError('QUOTA_EXCEEDED', 'the upload token has no use left')
    : new HoldfastError('INVALID_API_KEY', 'the upload token has been revoked')
}
