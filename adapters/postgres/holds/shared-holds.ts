import { HoldfastError } from '../../../src/domain/errors.ts'
import type { CatalogueHolds, WantedHold } from '../../../src/ledger/catalogue-holds.ts'
import type { OwnedDag } from '../../../src/ledger/whole-dag.ts'
import { AccountBatches } from '../access/account-batches.ts'
import type { Postgres } from '../database/postgres.ts'
import type { Sql } from '../database/sql.ts'
import { IS_GIVEN_UP } from '../nodes/node-states.ts'
import { NODES_CHANNEL } from '../outages/credential-changes.ts'
import { HAS_OFFERED } from '../schema/schema-set-backs.ts'
import type { SharedBackend } from './backends.ts'
import { type BegunHold, beginHolds, type HoldRequest, type PlacedHold, UNLESS_ENDED } from './begun-holds.ts'
import { deleteFiles, storeFiles } from './root-files.ts'
import { dropUnheld } from './shared-roots.ts'

/** Thrown when a commit needs a hold that was not placed. The caller places the hold and commits again. */
export class NeedsHold extends Error {}

export interface StagedHold {
  id: string
  ledgerRootId: number
}

const STEP = 200
/** Approximate bytes of the parameters for one hold. */
const BYTES_OF_HOLD = 512
/** Time after which an uncommitted hold expires, by the database's clock. A later commit is refused. */
export const PLACING = `INTERVAL '10 minutes'`
/**
 * SQL condition. With `state = 'placing'`, the planner might scan the partial index on that state instead of looking up
 * ids.
 */
export const IS_PLACING = "state NOT IN ('used', 'kept', 'void')"

/** A node that was given up keeps its content. Started as a new node, it gives the content back. */
const VOID = `
  SELECT id FROM holds WHERE node = $1 AND state = 'void' AND ${HAS_OFFERED}
    AND NOT EXISTS (SELECT 1 FROM nodes WHERE name = $1 AND ${IS_GIVEN_UP}) ORDER BY id LIMIT $2`
const ENDS = 'SELECT id, new_end AS ends FROM holds WHERE node = $1 AND new_end IS NOT NULL ORDER BY id LIMIT $2'
/** A subquery runs once. */
const LEFT = 'ARRAY(SELECT unnest(holds_without_copies($1)))'
const NEW_HOLD = `INSERT INTO holds (id, node, root_id, state) SELECT 'hold ' || nextval('hold_numbers'), ${UNLESS_ENDED}`
/**
 * Places and releases this node's holds for the catalogue.
 *
 * The catalogue inserts a hold as `placing`, the ledger places it durably, and the commit makes it `used`. A hold
 * becomes `void` before the ledger releases it. After a crash the ledger may hold unneeded content, but never lacks
 * needed content.
 */
export class SharedHolds {
  readonly #database: Postgres
  readonly #ledger: CatalogueHolds
  readonly #begun: AccountBatches<readonly HoldRequest[], Array<BegunHold | null>>
  readonly node: string
  readonly backend: SharedBackend
  #onGone: (dag: OwnedDag) => void = () => undefined

  constructor(database: Postgres, ledger: CatalogueHolds, node: string, backend: SharedBackend) {
    this.#database = database
    this.#ledger = ledger
    this.node = node
    this.backend = backend
    this.#begun = new AccountBatches(async requests => {
      const begun = await beginHolds(database, { node, backend }, requests.flat())
      return requests.map(({ length }) => ({ value: begun.splice(0, length) }))
    })
  }

  /**
   * Places holds on complete DAGs. Returns null for each request whose record exists already. Requests that wait begin
   * their holds together, and the ledger places these in one transaction.
   *
   * @throws HoldfastError `CID_NOT_FOUND` if the ledger lacks one of the DAGs
   */
  async place(wanted: readonly HoldRequest[]): Promise<Array<PlacedHold | null>> {
    const begun: Array<BegunHold | null> = []
    try {
      for (let i = 0; i < wanted.length; i += STEP) begun.push(...(await this.#begin(wanted.slice(i, i + STEP))))
      const known = begun.flatMap((hold, i) => {
        const request = wanted[i]
        return hold === null || request === undefined ? [] : { ...request, ...hold }
      })
      const roots = known.length === 0 ? [] : await this.#ledger.place(known)
      if (roots === null) throw new HoldfastError('CID_NOT_FOUND', 'this node no longer has the content')
      for (const [i, { rootId, isListed, dag }] of known.entries()) {
        if (dag.fileCount > 0 && !isListed) await this.list(rootId, roots[i]?.rootId ?? 0)
      }
      const healed = new Set(known.filter((_, i) => roots[i]?.healed).map(({ id }) => id))
      return begun.map(hold => hold && { ...hold, healed: healed.has(hold.id) })
    } catch (error) {
      await this.discard(begun.flatMap(hold => hold?.id ?? []))
      throw error
    }
  }

  /** Places one more hold for each expiry time in `ends`. */
  async placeMore(hold: PlacedHold & Omit<WantedHold, 'ends' | 'stagedRootId'>, ends: ReadonlyArray<number | null>) {
    const made = await this.#database.transaction(sql =>
      sql.all<{ id: string }>(`${NEW_HOLD}, $2, 'placing' FROM generate_series(1, $3) RETURNING id`, [
        this.node,
        hold.rootId,
        ends.length,
      ]),
    )
    const { backendId, dag, ...known } = hold
    const wanted = made.map(({ id }, i) => ({ id, backendId, dag, stagedRootId: null, ends: ends[i] ?? null }))
    const roots = await this.#ledger.place(wanted)
    if (roots === null) {
      await this.discard(made.map(({ id }) => id))
      throw new HoldfastError('CID_NOT_FOUND', 'this node no longer has the content')
    }
    return made.map(({ id }): PlacedHold => ({ ...known, id }))
  }

  async stage(backendId: number, now: number): Promise<StagedHold> {
    const id = await this.#beginPart()
    return { id, ledgerRootId: await this.#ledger.stage(id, backendId, now) }
  }

  async keep(stagedRootId: number): Promise<string> {
    const id = await this.#beginPart()
    await this.#ledger.keep(id, stagedRootId)
    return id
  }

  /**
   * Marks holds as used, in the transaction of the commit.
   *
   * @throws HoldfastError `UNAVAILABLE` if a hold has expired
   */
  async use(sql: Sql, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const used = await sql.run(`UPDATE holds SET state = 'used' WHERE id = ANY($1) AND ${IS_PLACING}`, [ids])
    if (used !== ids.length)
      throw new HoldfastError('UNAVAILABLE', 'the commit took too long and its content was released')
  }

  /**
   * Makes holds void, drops roots without holds, and notifies the nodes of the holds. Call this method in the
   * transaction that ends the need for the holds. With `isCopied`, copies that no other node has made yet keep theirs.
   */
  async void(sql: Sql, ids: readonly string[], isCopied = false): Promise<void> {
    await voidHolds(sql, ids, this.node, isCopied ? LEFT : '$1')
  }

  /** Ends the holds of removed records in their undo period. The ledgers keep the content, but nobody may read it. */
  async mute(sql: Sql, ids: readonly string[]): Promise<void> {
    const text = `UPDATE holds SET state = 'kept', new_end = 0 WHERE id = ANY($1) AND state = 'used' RETURNING node`
    await notifyOthers(sql, await sql.all<{ node: string }>(text, [ids]), this.node)
  }

  /** Gives holds a new end. The holds of a restored record become ordinary ones again. */
  async unmute(sql: Sql, ids: readonly string[], ends: number | null): Promise<void> {
    const text = `UPDATE holds SET state = 'used', new_end = $2 WHERE id = ANY($1) AND state IN ('used', 'kept')
      RETURNING node`
    const holders = await sql.all<{ node: string }>(text, [ids, ends ?? Number.MAX_SAFE_INTEGER])
    await notifyOthers(sql, holders, this.node)
  }

  /** Discards the unused holds. After a failure, {@link releaseVoid} or a reconciliation releases them. */
  async discard(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    try {
      await this.#database.transaction(async sql => {
        const text = `SELECT id FROM holds WHERE id = ANY($1) AND ${IS_PLACING} ORDER BY id FOR UPDATE`
        const unused = (await sql.all<{ id: string }>(text, [ids])).map(({ id }) => id)
        await this.void(sql, unused)
      })
      await this.releaseVoid()
    } catch {
      // Leave the holds in place until the database answers again.
    }
  }

  /** Makes expired holds of a node void, by default of this one. A crash before the commit leaves such holds. */
  async voidExpired(node = this.node): Promise<void> {
    await voidUnused(this.#database, { node, self: this.node, after: PLACING })
  }

  /** Sets the listener for DAGs that this node no longer holds. Any node may have removed their records. */
  gone(listener: (dag: OwnedDag) => void): void {
    this.#onGone = listener
  }

  /**
   * Stores the new ends of this node's holds in the ledger, then releases all its void holds. Returns their number.
   * Releases nothing while this node has content to offer after a set-back, or if it was given up.
   */
  async releaseVoid(): Promise<number> {
    await this.#storeEnds()
    let count = 0
    for (;;) {
      const ids = (await this.#next<{ id: string }>(VOID)).map(({ id }) => id)
      if (ids.length === 0) break
      for (const dag of await this.#ledger.release(ids)) this.#onGone(dag)
      await this.#database.command(`DELETE FROM holds WHERE id = ANY($1) AND node = $2 AND state = 'void'`, [
        ids,
        this.node,
      ])
      count += ids.length
      if (ids.length < STEP) break
    }
    // Delete files even if no hold was void. A crash may have left files of removed roots.
    await deleteFiles(this.#database)
    return count
  }

  /** Returns whether {@link releaseVoid} has something to do. */
  async hasMore(): Promise<boolean> {
    return (await this.#next(VOID)).length + (await this.#next(ENDS)).length > 0
  }

  /** Copies the list of a root's files from the ledger to the catalogue, which all nodes can read. */
  async list(rootId: number, ledgerRootId: number): Promise<void> {
    await storeFiles(this.#database, rootId, (offset, limit) => this.#ledger.files(ledgerRootId, offset, limit))
  }

  async #storeEnds(): Promise<void> {
    for (let found = STEP; found === STEP; ) {
      const due = await this.#next<{ id: string; ends: number }>(ENDS)
      found = due.length
      if (found === 0) break
      await this.#ledger.setEnds(due)
      // A hold whose end has changed again since it was read stays due.
      await this.#database.command(
        `UPDATE holds SET new_end = NULL FROM unnest($1::text[], $2::bigint[]) AS stored (id, ends)
         WHERE holds.id = stored.id AND new_end = stored.ends`,
        [due.map(({ id }) => id), due.map(({ ends }) => ends)],
      )
    }
  }

  #next<Row>(text: typeof VOID | typeof ENDS): Promise<Row[]> {
    return this.#database.reading.all<Row>(text, [this.node, STEP])
  }

  async #begin(wanted: readonly HoldRequest[]): Promise<Array<BegunHold | null>> {
    const size = { items: wanted.length, bytes: wanted.length * BYTES_OF_HOLD }
    return this.#begun.add(wanted[0]?.accountId ?? '', wanted, size)
  }

  async #beginPart(): Promise<string> {
    return this.#database.transaction(async sql =>
      idOf(await sql.first<{ id: string }>(`${NEW_HOLD}, NULL, 'placing' RETURNING id`, [this.node])),
    )
  }
}

/**
 * Makes the holds void that the process before this one has begun as the same node. Call this after the node's claim and
 * before the first new hold. Without it, the node would serve content whose last record is deleted.
 */
export async function voidLeft(database: Postgres, node: string): Promise<void> {
  await voidUnused(database, { node, self: node, after: `INTERVAL '0'` })
}

/** Makes unused holds of a node void, but not those of a commit that still runs. */
async function voidUnused(
  database: Postgres,
  { node, self, after }: { node: string; self: string; after: string },
): Promise<void> {
  for (let found = STEP; found === STEP; ) {
    found = await database.transaction(async sql => {
      const late = await sql.all<{ id: string }>(
        `SELECT id FROM holds WHERE node = $1 AND state = 'placing' AND placed_at < clock_timestamp() - ${after}
         ORDER BY placed_at LIMIT $2 FOR UPDATE SKIP LOCKED`,
        [node, STEP],
      )
      const ids = late.map(({ id }) => id)
      await voidHolds(sql, ids, self)
      return late.length
    })
  }
}

/** @param self the node of this process, which needs no notice */
async function voidHolds(sql: Sql, ids: readonly string[], self: string, ended = '$1'): Promise<void> {
  if (ids.length === 0) return
  const voided = await sql.all<{ rootId: number | null; node: string }>(
    `UPDATE holds SET state = 'void' WHERE id = ANY(${ended}) AND state <> 'void' RETURNING root_id AS "rootId", node`,
    [ids],
  )
  await notifyOthers(sql, voided, self)
  await dropUnheld(sql, [...new Set(voided.flatMap(({ rootId }) => rootId ?? []))])
}

async function notifyOthers(sql: Sql, holders: ReadonlyArray<{ node: string }>, self: string): Promise<void> {
  const others = new Set(holders.map(({ node }) => node))
  others.delete(self)
  for (const node of others) await notifyNode(sql, node)
}

/** Sends the notice when the transaction commits. */
export async function notifyNode(sql: Sql, node: string): Promise<void> {
  await sql.run('SELECT pg_notify($1, $2)', [NODES_CHANNEL, node])
}

function idOf(hold: { id: string } | undefined): string {
  if (hold === undefined) throw new HoldfastError('INTERNAL_ERROR', 'the inserted row was not returned')
  return hold.id
}
