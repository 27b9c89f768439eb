import type { StatusChange } from '../../src/catalogue/fetches.ts'
import type { Offer, Offers, SetBack } from '../../src/catalogue/offers.ts'
import { compareOffered, type OfferedRecord, repairOf } from '../../src/catalogue/rules/offer-rules.ts'
import type { ReconciliationParts } from '../../src/catalogue/rules/reconciliation-rules.ts'
import { isSound, RECORDS_AFTER, type WrongRecord } from '../../src/catalogue/rules/reconciliation-rules.ts'
import type { HeldRecord } from '../../src/catalogue/rules/removal-rules.ts'
import { isHoldfastError } from '../../src/domain/errors.ts'
import type { DagIdentity } from '../../src/ipld/cid.ts'
import type { ContentParts } from './content-change.ts'
import { roomForWhole } from './lost-pace.ts'
import { IS_GIVEN_UP } from './node-states.ts'
import { PostgresDriver } from './postgres-driver.ts'
import { RECORD_COLUMNS } from './record-rows.ts'
import { NEWEST_SET_BACK } from './schema-set-backs.ts'
import type { Sql } from './sql.ts'

const STEP = 200
const PLACE = `SELECT offer_place AS place FROM nodes WHERE name = $1`
const MOVE_ON = `UPDATE nodes SET offer_place = $3 WHERE name = $1 AND offer_place = $2`
const FINISH = `UPDATE nodes SET offered = $2, offer_place = NULL
  WHERE name = $1 AND offer_place = $3 AND (${NEWEST_SET_BACK}) = $2`
const PENDING = `SELECT id, problem FROM set_backs
  WHERE id = (${NEWEST_SET_BACK}) AND id IS DISTINCT FROM (SELECT offered FROM nodes WHERE name = $1)`
const INSERT = `
  INSERT INTO offers (record_id, node, cluster_id, hold_id, root_id)
  SELECT record_id, $1, cluster_id, hold_id, root_id
  FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) AS one (record_id, cluster_id, hold_id, root_id)
  ON CONFLICT (record_id, node) DO NOTHING RETURNING hold_id AS "holdId"`
const OPEN = `
  SELECT record_id AS "recordId", offers.node, nodes.id AS "nodeId", codec, multihash
  FROM offers LEFT JOIN records ON records.id = record_id LEFT JOIN nodes ON nodes.name = offers.node
  WHERE offers.cluster_id = $1 AND record_id > $2 AND (${IS_GIVEN_UP}) IS NOT TRUE ORDER BY record_id LIMIT $3`

type Nullable<Row> = { [Name in keyof Row]: Row[Name] | null }

/** Places holds for records of a database that was set back, and offers content to other nodes. */
export class PostgresOffers implements Offers {
  readonly #parts: ContentParts
  readonly #mend: ReconciliationParts['mend']
  readonly #driver: PostgresDriver
  readonly #sql: Sql

  constructor(parts: ContentParts, { mend }: Pick<ReconciliationParts, 'mend'>) {
    this.#parts = parts
    this.#mend = mend
    this.#driver = new PostgresDriver(parts.database)
    this.#sql = parts.database.reading
  }

  async pending(): Promise<SetBack | null> {
    return (await this.#sql.first<SetBack>(PENDING, [this.#node])) ?? null
  }

  async walk({ setBack, homes, limit, now }: Parameters<Offers['walk']>[0]) {
    const { database } = this.#parts
    const after = (await this.#sql.first<{ place: string | null }>(PLACE, [this.#node]))?.place ?? null
    if (after === null) {
      await this.#withdraw()
      await database.command(`UPDATE nodes SET offer_place = '' WHERE name = $1 AND offer_place IS NULL`, [this.#node])
      return { isDone: false, changes: [] }
    }
    const found = await this.#driver.some(RECORDS_AFTER, { after, limit })
    const last = found.at(-1)?.id
    if (last === undefined) {
      const count = await database.command(FINISH, [this.#node, setBack.id, after])
      return { isDone: count === 1, changes: [] }
    }
    const { wrong, others } = await compareOffered(found, { ledger: this.#parts.ledger, node: this.#node, homes })
    const { first, later } = await this.#paced(wrong)
    const changes = first.length === 0 ? [] : await this.#mend(first, now)
    await this.#offer([...others, ...later])
    await database.command(MOVE_ON, [this.#node, after, last])
    return { isDone: false, changes }
  }

  async waitsFor(): Promise<string[]> {
    const found = await this.#sql.all<{ node: string }>(
      `SELECT COALESCE(id, name) AS node FROM nodes
       WHERE offered IS DISTINCT FROM (${NEWEST_SET_BACK}) AND NOT ${IS_GIVEN_UP} ORDER BY number`,
    )
    return found.map(({ node }) => node)
  }

  async open({ clusterId, after, limit }: Parameters<Offers['open']>[0]): Promise<Offer[]> {
    const found = await this.#sql.all<Omit<Offer, 'dag'> & Nullable<DagIdentity>>(OPEN, [clusterId, after, limit])
    return found.map(({ codec, multihash, ...offer }) => {
      return { ...offer, dag: codec === null || multihash === null ? null : { codec, multihash } }
    })
  }

  has(backendId: number, dag: DagIdentity): boolean {
    const { ledger } = this.#parts
    const root = ledger.find(backendId, dag)
    return root !== undefined && !ledger.isLostFrom(root.id)
  }

  async take(offer: Offer, { backendId, brought, now }: Parameters<Offers['take']>[1]): Promise<StatusChange[]> {
    const { holds } = this.#parts
    const placed =
      brought === null
        ? []
        : await holds.place([{ backendId, stagedRootId: brought.stagedRootId, dag: brought.dag, ends: null }])
    try {
      const record = await this.#record(offer.recordId)
      const isWrong = record !== undefined && !isSound(this.#parts.ledger, record, backendId)
      if (isWrong && (await roomForWhole(this.#sql, record.accountId)) === 0) return []
      const changes = isWrong ? await this.#mend([{ record, kind: repairOf(record), backendId }], now) : []
      const mended = isWrong ? await this.#record(offer.recordId) : record
      // The record has changed during the repair. The next attempt repairs it.
      if (mended !== undefined && !isSound(this.#parts.ledger, mended, backendId)) return changes
      await this.#end('record_id = $1 AND node = $2', [offer.recordId, offer.node])
      return changes
    } finally {
      await holds.discard(placed.flatMap(hold => hold?.id ?? []))
    }
  }

  get #node(): string {
    return this.#parts.holds.node
  }

  /** Divides records whose content this node has. It offers the later ones to itself, until webhooks have room. */
  async #paced(wrong: readonly WrongRecord[]): Promise<{ first: WrongRecord[]; later: OfferedRecord[] }> {
    const first: WrongRecord[] = []
    const later: OfferedRecord[] = []
    for (const [accountId, records] of Map.groupBy(wrong, ({ record }) => record.accountId)) {
      const room = await roomForWhole(this.#sql, accountId)
      first.push(...records.slice(0, room))
      for (const { record, backendId } of records.slice(room)) {
        const root = this.#parts.ledger.find(backendId, record)
        if (root !== undefined) later.push({ record, root })
      }
    }
    return { first, later }
  }

  /** Offers content that this node has, each with a hold of its own. */
  async #offer(found: readonly OfferedRecord[]): Promise<void> {
    try {
      await this.#offerAll(found)
    } catch (error) {
      if (!isHoldfastError(error, 'CID_NOT_FOUND')) throw error
      // The collector has taken one of the roots meanwhile.
      const left = found.filter(({ root }) => this.#parts.ledger.find(root.backendId, root) !== undefined)
      if (left.length < found.length) await this.#offer(left)
    }
  }

  async #offerAll(found: readonly OfferedRecord[]): Promise<void> {
    if (found.length === 0) return
    const { database, holds } = this.#parts
    const wanted = found.map(({ record: { expiresAt }, root }) => {
      return { backendId: root.backendId, stagedRootId: null, dag: root, ends: expiresAt }
    })
    const placed = (await holds.place(wanted)).flatMap(hold => hold ?? [])
    const ids = placed.map(({ id }) => id)
    try {
      await database.transaction(async sql => {
        const records = found.map(({ record }) => record)
        const of = [records.map(({ id }) => id), records.map(({ clusterId }) => clusterId)] as const
        const made = await sql.all<{ holdId: string }>(INSERT, [
          this.#node,
          ...of,
          ids,
          placed.map(({ rootId }) => rootId),
        ])
        await holds.use(
          sql,
          made.map(({ holdId }) => holdId),
        )
      })
    } finally {
      await holds.discard(ids)
    }
  }

  /** Ends the offers of an earlier set-back. */
  async #withdraw(): Promise<void> {
    for (let ended = STEP; ended === STEP; ) {
      ended = await this.#end(
        `record_id = ANY (ARRAY(SELECT record_id FROM offers WHERE node = $2 ORDER BY record_id LIMIT $1)) AND node = $2`,
        [STEP, this.#node],
      )
    }
  }

  async #end(condition: string, params: readonly (string | number)[]): Promise<number> {
    const { database, holds } = this.#parts
    return database.transaction(async sql => {
      const ended = await sql.all<{ holdId: string }>(
        `DELETE FROM offers WHERE ${condition} RETURNING hold_id AS "holdId"`,
        params,
      )
      await holds.void(
        sql,
        ended.map(({ holdId }) => holdId),
      )
      return ended.length
    })
  }

  #record(id: string): Promise<HeldRecord | undefined> {
    return this.#sql.first<HeldRecord>(`SELECT ${RECORD_COLUMNS}, hold_id AS "holdId" FROM records WHERE id = $1`, [id])
  }
}
