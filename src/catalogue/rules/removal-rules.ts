import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import type { DagIdentity } from '../../ipld/cid.ts'
import type { AccountUsage, RecordRow, Records } from '../records.ts'
import { either } from './dialect.ts'
import { all, type CatalogueDriver, first, type Rule, run } from './driver.ts'
import { COUNT, EXPIRED_RECORDS, GET_RECORD, HAS_DAG, RECORDS_OF_DAG, record } from './record-statements.ts'
import { columns, sql } from './statement.ts'

/** Maximum number of records that one transaction removes. */
const STEP = 50
/**
 * Age after which any node completes a stored removal. By then the process that began the removal has probably stopped.
 */
const LATE_MS = 60_000

interface Removal extends DagIdentity {
  accountId: string
  /** Null for all clusters. */
  clusterId: string | null
  /** Only records created at this time or earlier are removed. */
  createdBy: number
}

/** In SQLite, the hold has the id of the record. */
export type HeldRecord = RecordRow & { holdId: string | null }

export interface RemovalParts {
  /**
   * Deletes the given records that still exist, and releases their holds. Returns the deleted records in the given
   * order.
   *
   * @param isCurrent true if the records were read in this transaction
   */
  remove(records: readonly RecordRow[], isCurrent: boolean): Rule<RecordRow[]>
  /** Called within the transaction for each removed record, with the change of its account's usage. */
  uncounted?(record: RecordRow, count: AccountUsage): void
  removed?(records: readonly RecordRow[]): void
  /** Removes the released holds from the ledger, after the transaction. */
  dropReleased(): Promise<void>
}

export const heldRecord = columns<HeldRecord>({ ...record.kinds, holdId: ['text', either('id', 'hold_id')] })
const removal = columns<Removal & { id: number }>({
  id: 'integer',
  accountId: 'text',
  codec: 'integer',
  multihash: 'bytes',
  clusterId: 'text',
  createdBy: 'integer',
})

/**
 * Stores a removal that needs several transactions, in the first of them. After a crash, another process completes the
 * removal.
 */
const NOTE = sql<{ id: number }>`
  INSERT INTO removals (account_id, codec, multihash, cluster_id, created_by)
  VALUES (:accountId, :codec, :multihash, :clusterId, :createdBy) RETURNING id`
const NOTED = sql`SELECT ${removal} FROM removals WHERE id > :after AND created_by < :before ORDER BY id LIMIT 1`
const FORGET = sql`DELETE FROM removals WHERE id = :id`
export const LOCK_ACCOUNTS = sql`${either('', 'SELECT 1 FROM accounts WHERE id = ANY(:accounts) ORDER BY id FOR UPDATE')}`

export function removalRules(
  driver: CatalogueDriver,
  parts: RemovalParts,
): Pick<Records, 'remove' | 'discard' | 'discardAll' | 'expire' | 'finishRemovals'> {
  const removing = <T extends { rows: RecordRow[] }>(make: () => Rule<T>, lane?: string): Promise<T> =>
    driver.transaction(make, { patient: true, committed: ({ rows }) => parts.removed?.(rows), lane })

  function* removeSome(of: Removal, now = of.createdBy): Rule<RecordRow[]> {
    yield* first(LOCK_ACCOUNTS, { accounts: [of.accountId] })
    const found = yield* all(RECORDS_OF_DAG, { ...of, now, limit: STEP })
    return yield* removeRecords(parts, found, true)
  }

  function* removeKnown(records: readonly RecordRow[]): Rule<{ rows: RecordRow[] }> {
    yield* first(LOCK_ACCOUNTS, { accounts: records.map(({ accountId }) => accountId) })
    // Another node may have removed some of the records meanwhile.
    return { rows: yield* removeRecords(parts, records, false) }
  }

  /** Removes some records of a stored removal, and with the last records its row. */
  async function step(noted: Removal & { id: number }): Promise<RecordRow[]> {
    const { rows } = await removing(function* () {
      const some = yield* removeSome(noted)
      if (some.length < STEP) yield* run(FORGET, noted)
      return { rows: some }
    }, noted.accountId)
    return rows
  }

  /** Completes a stored removal. */
  async function finish(noted: Removal & { id: number }): Promise<RecordRow[]> {
    const removed: RecordRow[] = []
    for (;;) {
      const rows = await step(noted)
      for (const row of rows) removed.push(row)
      if (rows.length < STEP) return removed
    }
  }

  /** Id of the stored removal that had the last turn. */
  let last = 0

  /** Does one step of the stored removal whose turn it is. Returns false if there is none. */
  async function stepNoted(before: number): Promise<boolean> {
    const next = await driver.first(NOTED, { before, after: last })
    const noted = next ?? (last === 0 ? null : await driver.first(NOTED, { before, after: 0 }))
    last = noted?.id ?? 0
    if (noted !== null) await step(noted)
    return noted !== null
  }

  async function discardAll(ids: readonly string[]): Promise<RecordRow[]> {
    const known = await Promise.all(ids.map(id => driver.first(GET_RECORD, { id })))
    return removeAll(known.filter(row => row !== null))
  }

  async function removeAll(known: readonly RecordRow[]): Promise<RecordRow[]> {
    if (known.length === 0) return []
    const [first, ...others] = new Set(known.map(({ accountId }) => accountId))
    const { rows } = await removing(() => removeKnown(known), others.length === 0 ? first : undefined)
    await parts.dropReleased()
    return rows
  }

  return {
    remove: async ({ dag: { codec, multihash }, accountId, clusterId, now }) => {
      const of = { codec, multihash, accountId, clusterId }
      const { rows, noted } = await removing(function* () {
        // The clock of another node may be ahead, so records of the future are removed, too.
        const some = yield* removeSome({ ...of, createdBy: Number.MAX_SAFE_INTEGER }, now)
        const left = { ...of, createdBy: Math.max(now, ...some.map(({ createdAt }) => createdAt)) }
        const isMore = some.length === STEP && (yield* first(RECORDS_OF_DAG, { ...left, now, limit: 1 })) !== null
        const noted = isMore ? yield* first(NOTE, left) : null
        return { rows: some, noted: noted && { ...left, ...noted } }
      }, accountId)
      if (noted !== null) for (const row of await rest(finish(noted))) rows.push(row)
      await parts.dropReleased()
      return rows
    },
    discard: async id => (await discardAll([id])).length > 0,
    discardAll,
    expire: async (now, limit) => {
      for (;;) {
        const isMore = await stepNoted(now - LATE_MS)
        const ended = await driver.all(EXPIRED_RECORDS, { now, limit: Math.min(limit, STEP) })
        if (ended.length > 0 || !isMore) return removeAll(ended)
      }
    },
    finishRemovals: async () => {
      while (await stepNoted(Number.MAX_SAFE_INTEGER));
      await parts.dropReleased()
    },
  }
}

/**
 * Removes the given records that still exist, and updates the usage of their accounts. The caller has locked the
 * accounts.
 */
export function* removeRecords(
  parts: RemovalParts,
  records: readonly RecordRow[],
  isCurrent: boolean,
): Rule<RecordRow[]> {
  const rows = yield* parts.remove(records, isCurrent)
  const counts = new Map<string, AccountUsage>()
  const contents = new Set<string>()
  for (const row of rows) {
    const { accountId, codec, multihash, expiresAt, charge } = row
    const content = `${accountId} ${codec} ${Buffer.from(multihash).toString('hex')}`
    const isFirst = row.rootId !== null && !contents.has(content)
    if (isFirst) contents.add(content)
    const frees = isFirst && (yield* first(HAS_DAG, row)) === null
    const count = { pins: -1, expiringPins: expiresAt === null ? 0 : -1, storedBytes: frees ? -charge : 0 }
    parts.uncounted?.(row, count)
    counts.set(accountId, sum(counts.get(accountId), count))
  }
  for (const [accountId, count] of counts) yield* run(COUNT, { accountId, ...count })
  return rows
}

function sum(some: AccountUsage | undefined, more: AccountUsage): AccountUsage {
  const { pins = 0, expiringPins = 0, storedBytes = 0 } = some ?? {}
  return {
    pins: pins + more.pins,
    expiringPins: expiringPins + more.expiringPins,
    storedBytes: storedBytes + more.storedBytes,
  }
}

/** Converts `UNAVAILABLE` to `OUTCOME_UNKNOWN`, because a stored removal is completed later. */
async function rest(finished: Promise<RecordRow[]>): Promise<RecordRow[]> {
  try {
    return await finished
  } catch (cause) {
    if (!isHoldfastError(cause, 'UNAVAILABLE')) throw cause
    const message = 'a part is removed; the rest follows within minutes, or after a restart of the node'
    throw new HoldfastError('OUTCOME_UNKNOWN', message, { cause })
  }
}
