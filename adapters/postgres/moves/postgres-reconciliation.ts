import { isDeepStrictEqual } from 'node:util'
import type { StatusChange } from '../../../src/catalogue/fetches.ts'
import type { Reconciliation, RecordProblem } from '../../../src/catalogue/reconciliation.ts'
import type { AccountUsage } from '../../../src/catalogue/records.ts'
import { fetchFor } from '../../../src/catalogue/rules/fetch-rows.ts'
import {
  isLocal,
  type ReconciliationParts,
  type WrongRecord,
} from '../../../src/catalogue/rules/reconciliation-rules.ts'
import type { HeldRecord } from '../../../src/catalogue/rules/removal-rules.ts'
import { checkTransition } from '../../../src/domain/pin-status.ts'
import type { Visibility } from '../../../src/domain/visibility.ts'
import type { CatalogueHolds } from '../../../src/ledger/catalogue-holds.ts'
import { LockedAccounts } from '../access/locked-accounts.ts'
import { wantBack } from '../copies/copy-rows.ts'
import { runRule } from '../database/postgres-driver.ts'
import type { Sql } from '../database/sql.ts'
import { beginFetch, fetchParts } from '../holds/fetch-parts.ts'
import { IS_PLACING, PLACING } from '../holds/shared-holds.ts'
import { getRecord, HELD_COLUMNS, lockRecords } from '../lists/record-rows.ts'
import { ContentChange, type ContentParts } from '../records/content-change.ts'

const STEP = 50

const ROOT_OF_DAG = `
  SELECT id FROM roots WHERE multihash = $1 AND codec = $2 AND backend_id = $3
    AND ((owner = 0 AND $4::bigint = 0) OR (owner <> 0 AND owner = $4))`
/** Marks copies of this node as damaged, so that they are made again. Their records are on other nodes. */
const DAMAGED_COPY = `
  UPDATE copies SET state = 'damaged', due_at = 0
  WHERE root_id = (${ROOT_OF_DAG}) AND state IN ('have', 'surplus', 'going')`

const DISPUTED = 'SELECT record_id AS id, catalogue FROM disputes WHERE record_id = ANY($1)'

/** A record to repair, with the backend that has its content or must fetch it. */
type Mended = Pick<WrongRecord, 'record' | 'backendId'> & { now: number }

/** Repairs differences between this node's ledger and the catalogue, but not the content of other nodes. */
export class PostgresReconciliation implements ReconciliationParts {
  readonly #parts: ContentParts
  readonly #sql: Sql
  readonly ledger: CatalogueHolds
  readonly node: string

  constructor(parts: ContentParts) {
    this.#parts = parts
    this.#sql = parts.database.reading
    this.ledger = parts.ledger
    this.node = parts.holds.node
  }

  async disputed(records: readonly string[]): Promise<ReadonlyMap<string, Visibility>> {
    const found = await this.#sql.all<{ id: string; catalogue: Visibility }>(DISPUTED, [records])
    return new Map(found.map(({ id, catalogue }) => [id, catalogue]))
  }

  async mend(wrong: readonly WrongRecord[], now: number): Promise<StatusChange[]> {
    const changes: StatusChange[] = []
    const lost = wrong.flatMap(({ kind, record }) =>
      kind === 'record-lost' && record.status === 'pinned' ? record : [],
    )
    const wantedBack = await wantBack(this.#sql, this.node, lost)
    for (const { kind, ...of } of wrong) {
      if (lost.includes(of.record) && wantedBack.has(of.record)) continue
      changes.push(...(await this.#mend({ ...of, now }, kind)))
    }
    await this.#parts.holds.releaseVoid()
    return changes
  }

  /** Compares in one statement, which nobody waits for. Only the repair of wrong counters locks the account. */
  async recount({ accountId, mend }: { accountId: string; limit: number; mend: boolean }) {
    const compared = await recounted(this.#sql, accountId)
    if (compared === null || !mend || isDeepStrictEqual(compared.noted, compared.counted)) return compared
    return this.#parts.database.transaction(async sql => {
      const accounts = await LockedAccounts.lock(sql, [accountId])
      const locked = await recounted(sql, accountId)
      if (locked === null) return null
      const { noted, counted } = locked
      accounts.count(accountId, {
        pins: counted.pins - noted.pins,
        expiringPins: counted.expiringPins - noted.expiringPins,
        storedBytes: counted.storedBytes - noted.storedBytes,
      })
      await accounts.write()
      return locked
    }, accountId)
  }

  async requeue({ backendId, dag, homes, reason, now }: Parameters<Reconciliation['requeue']>[0]) {
    const changes: StatusChange[] = []
    const clusters = [...homes.keys()]
    const isHere = isLocal(homes, backendId)
    const root = [dag.multihash, dag.codec, this.#parts.holds.backend(backendId)]
    await this.#parts.database.command(DAMAGED_COPY, [...root, dag.owner])
    for (let after = ''; ; ) {
      const found = await this.#sql.all<HeldRecord>(
        `SELECT ${HELD_COLUMNS} FROM records
         WHERE root_id = (${ROOT_OF_DAG})
           AND id > $5 AND ($6 OR cluster_id = ANY($7)) ORDER BY id LIMIT $8`,
        [...root, dag.owner, after, isHere, clusters, STEP],
      )
      for (const record of found)
        changes.push(...(await this.#wait({ record, backendId, now }, reason, { owner: dag.owner })))
      const last = found.at(-1)
      if (last === undefined || found.length < STEP) return changes
      after = last.id
    }
  }

  async unwanted(found: readonly string[]): Promise<string[]> {
    const own = found.filter(id => this.ledger.owns(id))
    const wanted = await this.#sql.all<{ id: string }>(
      `SELECT id FROM holds WHERE id = ANY($1)
         AND (state IN ('used', 'kept') OR (state = 'placing' AND placed_at > clock_timestamp() - ${PLACING}))`,
      [own],
    )
    const isWanted = new Set(wanted.map(({ id }) => id))
    return own.filter(id => !isWanted.has(id))
  }

  /** Makes the unused holds among `ids` void, then releases the void holds. No commit can use a void hold. */
  async release(ids: readonly string[], isLast: boolean): Promise<void> {
    const { holds } = this.#parts
    if (ids.length > 0) await this.#void(ids)
    // `ids` contains only holds that the ledger has placed. A hold that a crash left unplaced expires.
    if (isLast) await holds.voidExpired()
    if (isLast || ids.length > 0) await holds.releaseVoid()
  }

  async #void(ids: readonly string[]): Promise<void> {
    const { database, holds } = this.#parts
    await database.transaction(async sql => {
      // Insert the ids that the catalogue lacks. They become void below, so no late commit can use them.
      await sql.run(
        `INSERT INTO holds (id, node, state) SELECT id, $2, 'placing' FROM unnest($1::text[]) AS id
         ON CONFLICT (id) DO NOTHING`,
        [ids, holds.node],
      )
      const unused = await sql.all<{ id: string }>(
        `SELECT id FROM holds WHERE id = ANY($1) AND ${IS_PLACING} ORDER BY id FOR UPDATE`,
        [ids],
      )
      await holds.void(
        sql,
        unused.map(({ id }) => id),
      )
    })
  }

  async #mend(mended: Mended, kind: RecordProblem): Promise<StatusChange[]> {
    const { record, backendId, now } = mended
    if (kind === 'record-lost') {
      return this.#wait(mended, 'the content was lost and is fetched again', { isHoldLost: true })
    }
    if (kind === 'record-unfetched') return this.#wait(mended, 'the content is fetched again')
    const { database, holds, ledger } = this.#parts
    const dag = ledger.find(backendId, record, record.owner)
    if (dag === undefined) return []
    const [hold] = await holds.place([{ backendId, stagedRootId: null, dag, ends: record.expiresAt }])
    if (hold == null) return []
    try {
      return await database.transaction(async sql => {
        const change = await ContentChange.begin(sql, this.#parts, [record.accountId])
        const current = await lockSame(sql, record)
        if (current === null) return []
        if (kind === 'record-unheld') {
          await holds.use(sql, [hold.id])
          await sql.run('UPDATE records SET hold_id = $2, root_id = $3 WHERE id = $1', [
            record.id,
            hold.id,
            hold.rootId,
          ])
          await holds.void(sql, current.holdId === null ? [] : [current.holdId])
          return []
        }
        const whole = await change.fulfil(current, hold, backendId, now)
        await change.accounts.write()
        return [{ record: whole, from: current.status }]
      }, record.accountId)
    } finally {
      await holds.discard([hold.id])
    }
  }

  async #wait(
    { record, backendId, now }: Mended,
    reason: string,
    { isHoldLost = false, owner = record.owner } = {},
  ): Promise<StatusChange[]> {
    const { database, holds } = this.#parts
    if (record.status !== 'pinning' && record.status !== 'queued') checkTransition(record.status, 'pinning')
    const staged = await holds.stage(backendId, now)
    try {
      return await database.transaction(async sql => {
        const change = await ContentChange.begin(sql, this.#parts, [record.accountId])
        const wanted = { backendId, record, owner, now }
        const parts = fetchParts(database, holds)
        const begin = () => beginFetch(parts, holds, wanted, staged)
        const fetch = await runRule(fetchFor(parts, wanted, begin), sql)
        const current = await lockSame(sql, record)
        if (current === null) return []
        const row = await change.wait(current, fetch.id, now, reason)
        if (isHoldLost && current.holdId !== null) {
          await sql.run('UPDATE records SET hold_id = NULL WHERE id = $1', [record.id])
          await holds.void(sql, [current.holdId])
        }
        await change.accounts.write()
        return [{ record: (await getRecord(sql, row.id)) ?? row, from: current.status }]
      }, record.accountId)
    } finally {
      await holds.discard([staged.id])
    }
  }
}

/** Locks a record. Returns null if it has changed since it was read. */
async function lockSame(sql: Sql, record: HeldRecord): Promise<HeldRecord | null> {
  const [current] = await lockRecords(sql, [record.id])
  return current?.status === record.status && current.holdId === record.holdId ? current : null
}

/** Returns the stored and the counted usage of an account at one time. */
async function recounted(sql: Sql, accountId: string): Promise<{ noted: AccountUsage; counted: AccountUsage } | null> {
  const row = await sql.first<AccountUsage & { notedPins: number; notedExpiring: number; notedBytes: number }>(
    `SELECT a.pins AS "notedPins", a.expiring_pins AS "notedExpiring", a.stored_bytes AS "notedBytes",
       all_of.pins, all_of."expiringPins", (
         SELECT COALESCE(SUM(charge), 0)::bigint FROM (
           SELECT DISTINCT ON (multihash, codec) charge FROM records
           WHERE account_id = $1 AND root_id IS NOT NULL ORDER BY multihash, codec) AS dags) AS "storedBytes"
     FROM accounts a, (
       SELECT COUNT(*) AS pins, COUNT(expires_at) AS "expiringPins" FROM records WHERE account_id = $1) AS all_of
     WHERE a.id = $1`,
    [accountId],
  )
  if (row === undefined) return null
  const { notedPins, notedExpiring, notedBytes, ...counted } = row
  return { noted: { pins: notedPins, expiringPins: notedExpiring, storedBytes: notedBytes }, counted }
}
