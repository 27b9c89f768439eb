import type { StatusChange } from '../../../src/catalogue/fetches.ts'
import type { DisputedRecord, Offer, Offers, SetBack } from '../../../src/catalogue/offers.ts'
import {
  compareOffered,
  type HiddenRecord,
  isHeld,
  type OfferedRecord,
  repairOf,
} from '../../../src/catalogue/rules/offer-rules.ts'
import type { CatalogueRecord, ReconciliationParts } from '../../../src/catalogue/rules/reconciliation-rules.ts'
import { foundRecord, RECORDS_AFTER, type WrongRecord } from '../../../src/catalogue/rules/reconciliation-rules.ts'
import { selectList } from '../../../src/catalogue/rules/statement.ts'
import { isHoldfastError } from '../../../src/domain/errors.ts'
import type { OwnedDag } from '../../../src/ledger/whole-dag.ts'
import { wantBack, withoutCopies } from '../copies/copy-rows.ts'
import { PostgresDriver } from '../database/postgres-driver.ts'
import type { Sql } from '../database/sql.ts'
import { BACKEND_ID } from '../holds/backends.ts'
import { checkPrivate } from '../lists/private-records.ts'
import { IS_GIVEN_UP } from '../nodes/node-states.ts'
import type { ContentParts } from '../records/content-change.ts'
import { giveOwner } from '../records/record-owner.ts'
import { NEWEST_SET_BACK } from '../schema/schema-set-backs.ts'
import { assignOffers, endOffers, findTakers, IS_REMOVED } from './offer-takers.ts'

const STEP = 200
const PLACE = `SELECT offer_place AS place FROM nodes WHERE name = $1`
const MOVE_ON = `UPDATE nodes SET offer_place = $3 WHERE name = $1 AND offer_place = $2`
const FINISH = `UPDATE nodes SET offered = $2, offer_place = NULL
  WHERE name = $1 AND offer_place = $3 AND (${NEWEST_SET_BACK}) = $2`
const PENDING = `SELECT id, problem FROM set_backs
  WHERE id = (${NEWEST_SET_BACK}) AND id IS DISTINCT FROM (SELECT offered FROM nodes WHERE name = $1)`
const INSERT = `
  INSERT INTO offers (record_id, node, cluster_id, hold_id, root_id, taker)
  SELECT record_id, $1, cluster_id, hold_id, root_id, taker
  FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[])
    AS one (record_id, cluster_id, hold_id, root_id, taker)
  ON CONFLICT (record_id, node) DO NOTHING RETURNING hold_id AS "holdId"`
/**
 * Selects the offers that a node takes. The node of the cluster takes an offer of 0.3.0, which names no
 * node. The content of a removed record waits for the end of its undo period.
 */
const IN_ORDER = '(record_id, offers.node) > ($2, $3) ORDER BY record_id, offers.node LIMIT $4'
const OPEN = `
  SELECT record_id AS "recordId", offers.node, offers.cluster_id AS "clusterId", "nodeId",
    records.codec, records.multihash, records.owner, ${BACKEND_ID} AS "backendId", "isGivenUp"
      OR (records.id IS NULL AND ${IS_REMOVED}) AS "isLeft"
  FROM (
    (SELECT * FROM offers WHERE taker = $1 AND ${IN_ORDER})
    UNION ALL (SELECT * FROM offers WHERE taker IS NULL AND cluster_id = ANY($5) AND ${IN_ORDER})
    ORDER BY record_id, node LIMIT $4) AS offers
  JOIN (SELECT name, id AS "nodeId", ${IS_GIVEN_UP} AS "isGivenUp" FROM nodes) AS giver ON giver.name = offers.node
  LEFT JOIN records ON records.id = record_id
  LEFT JOIN holds ON holds.id = records.hold_id AND holds.node = $1
  LEFT JOIN roots ON roots.id = CASE
    WHEN holds.id IS NOT NULL THEN records.root_id WHEN offers.node = $1 THEN offers.root_id END
  ORDER BY record_id, offers.node`
const RECORD = `SELECT ${selectList(foundRecord).postgres} FROM records WHERE id = $1`
const TAKEN = `${RECORD} AND EXISTS (SELECT 1 FROM offers WHERE record_id = $1 AND node = $2)`
const NUMBERS = 'SELECT id, owner FROM accounts WHERE id = ANY($1) AND owner IS NOT NULL'
const DISPUTE = `INSERT INTO disputes (record_id, catalogue) VALUES ($1, $2)
  ON CONFLICT (record_id) DO UPDATE SET catalogue = excluded.catalogue`
/** Selects the holds by which no public record of the catalogue is kept. A commit may still use a new hold. */
const CLOSED = `
  SELECT id FROM unnest($2::text[]) AS one (id) WHERE NOT EXISTS (
    SELECT 1 FROM holds JOIN roots ON roots.id = holds.root_id
    WHERE holds.id = one.id AND holds.node = $1 AND holds.state NOT IN ('kept', 'void') AND roots.owner = 0)`
const COMPARED_AT_ONCE = 100
const NOTHING = { isEnded: false, changes: [] }

type Nullable<Row> = { [Name in keyof Row]: Row[Name] | null }
/** `isLeft` is true for an offer that cannot be taken now. */
type Found = Omit<Offer, 'dag'> & Nullable<OwnedDag> & { isLeft: boolean }

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
    const { database, ledger } = this.#parts
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
    const takers = await findTakers(this.#sql, this.#node)
    const numbers = await this.#numbersOf(found)
    const { wrong, others, hidden, lost } = await compareOffered(found, { ledger, homes, takers, numbers })
    await wantBack(this.#sql, this.#node, lost)
    const place = { node: this.#node, sql: this.#sql, isSound: (holdId: string) => ledger.isSound(holdId) }
    const offered = await withoutCopies(place, others)
    const { first, later } = await this.#paced(wrong)
    const changes = first.length === 0 ? [] : await this.#mend(first, now)
    await this.#offer([...offered, ...later])
    const disputed: DisputedRecord[] = []
    for (const one of hidden) {
      const made = await this.#hide(one, now)
      if (made === null) continue
      changes.push(...made)
      const { id: record, cid } = one.record
      disputed.push({ record, cid, catalogue: one.catalogue })
    }
    await database.command(MOVE_ON, [this.#node, after, last])
    return { isDone: false, changes, disputed }
  }

  async compare(): Promise<boolean> {
    const { ledger } = this.#parts
    const { upTo, roots, last } = ledger.uncompared(COMPARED_AT_ONCE)
    if (upTo === 0) return false
    for (const ids of ledger.readableHolds(roots)) {
      const closed = await this.#sql.all<{ id: string }>(CLOSED, [this.#node, ids])
      if (closed.length > 0) await ledger.setEnds(closed.map(({ id }) => ({ id, ends: 0 })))
    }
    await ledger.compared({ upTo, last })
    return true
  }

  async waitsFor(): Promise<string[]> {
    const found = await this.#sql.all<{ node: string }>(
      `SELECT COALESCE(id, name) AS node FROM nodes
       WHERE offered IS DISTINCT FROM (${NEWEST_SET_BACK}) AND NOT ${IS_GIVEN_UP} ORDER BY number`,
    )
    return found.map(({ node }) => node)
  }

  assign(): Promise<void> {
    return assignOffers(this.#parts)
  }

  async open({ homes, after, limit }: Parameters<Offers['open']>[0]) {
    const { recordId = '', node = '' } = after ?? {}
    const found = await this.#sql.all<Found>(OPEN, [this.#node, recordId, node, limit, [...homes.keys()]])
    const offers = found.filter(({ isLeft }) => !isLeft)
    return {
      offers: offers.map(({ codec, multihash, owner, isLeft: _, ...offer }): Offer => {
        return {
          ...offer,
          dag: codec === null || multihash === null || owner === null ? null : { codec, multihash, owner },
        }
      }),
      last: found.length < limit ? null : (found.at(-1) ?? null),
    }
  }

  has(backendId: number, dag: OwnedDag): boolean {
    const { ledger } = this.#parts
    const root = ledger.find(backendId, dag, dag.owner)
    return root !== undefined && !ledger.isLostFrom(root.id)
  }

  async take(offer: Offer, { backendId, brought, now }: Parameters<Offers['take']>[1]) {
    const { holds } = this.#parts
    const placed =
      brought === null
        ? []
        : await holds.place([{ backendId, stagedRootId: brought.stagedRootId, dag: brought.dag, ends: null }])
    try {
      if (await this.#endIfSound(offer)) return { isEnded: true, changes: [] }
      const record = await this.#sql.first<CatalogueRecord>(TAKEN, [offer.recordId, offer.node])
      // Another node may have ended the offer, because it has the content.
      if (record === undefined || (await this.#parts.pace.roomForWhole(this.#sql, record.accountId)) === 0)
        return NOTHING
      const changes = await this.#mend([{ record, kind: repairOf(record), backendId }], now)
      // A record that has changed during the repair is repaired by the next attempt.
      return { isEnded: await this.#endIfSound(offer), changes }
    } finally {
      await holds.discard(placed.flatMap(hold => hold?.id ?? []))
    }
  }

  async #numbersOf(records: readonly CatalogueRecord[]): Promise<ReadonlyMap<string, number>> {
    const ids = [...new Set(records.map(({ accountId }) => accountId))]
    const found = await this.#sql.all<{ id: string; owner: number }>(NUMBERS, [ids])
    return new Map(found.map(({ id, owner }) => [id, owner]))
  }

  /** Makes a record private that the ledger has as private, or of which it has public content only. */
  async #hide({ record, catalogue, root, owner }: HiddenRecord, now: number): Promise<StatusChange[] | null> {
    await checkPrivate(this.#parts.database, [owner])
    const hold = this.#parts.ledger.holdOf(root.id)
    if (hold === null) return null
    const made = await giveOwner(this.#parts, { record, root, hold, owner, now }, sql =>
      sql.run(DISPUTE, [record.id, catalogue]),
    )
    if (made === null) return null
    if (made.status === 'pinned') return []
    return this.#mend([{ record: made, kind: repairOf(made), backendId: root.backendId }], now)
  }

  get #node(): string {
    return this.#parts.holds.node
  }

  /**
   * Ends the offers of all nodes for a record if this node has its content, with its hold, or if the record is gone.
   * Returns whether they have ended.
   */
  async #endIfSound({ recordId }: Offer): Promise<boolean> {
    const { ledger } = this.#parts
    const record = await this.#sql.first<CatalogueRecord>(RECORD, [recordId])
    if (record !== undefined) {
      const own = record.node === this.#node ? record.own : null
      const root = own === null ? undefined : ledger.find(own, record, record.owner)
      if (!isHeld(ledger, record, own) || root === undefined || ledger.isLostFrom(root.id)) return false
    }
    await endOffers(this.#parts, `record_id = $1 AND NOT ${IS_REMOVED}`, [recordId])
    return true
  }

  /**
   * Divides records whose content this node has. It offers the later ones to itself, until features have handled earlier
   * changes.
   */
  async #paced(wrong: readonly WrongRecord[]): Promise<{ first: WrongRecord[]; later: OfferedRecord[] }> {
    const first: WrongRecord[] = []
    const later: OfferedRecord[] = []
    for (const [accountId, records] of Map.groupBy(wrong, ({ record }) => record.accountId)) {
      const room = await this.#parts.pace.roomForWhole(this.#sql, accountId)
      first.push(...records.slice(0, room))
      for (const { record, backendId } of records.slice(room)) {
        const root = this.#parts.ledger.find(backendId, record, record.owner)
        if (root !== undefined) later.push({ record, root, taker: this.#node })
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
      const left = found.filter(({ root }) => this.#parts.ledger.find(root.backendId, root, root.owner) !== undefined)
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
          found.map(({ taker }) => taker),
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
    const some = 'ARRAY(SELECT record_id FROM offers WHERE node = $1 ORDER BY record_id LIMIT $2)'
    const condition = `record_id = ANY (${some}) AND node = $1`
    while ((await endOffers(this.#parts, condition, [this.#node, STEP])) === STEP);
  }
}
