import { HoldfastError } from '../../src/domain/errors.ts'
import type { DagIdentity } from '../../src/ipld/cid.ts'
import type { CatalogueHolds, WantedHold } from '../../src/ledger/catalogue-holds.ts'
import type { WholeDag } from '../../src/ledger/whole-dag.ts'
import type { SharedBackend } from './backends.ts'
import { NODES_CHANNEL } from './credential-changes.ts'
import type { Postgres } from './postgres.ts'
import { forgetFiles, noteFiles } from './root-files.ts'
import type { Sql } from './sql.ts'

/** A hold that the ledger has placed, for a commit to use. */
export interface PlacedHold {
  id: string
  /** Of the catalogue. */
  rootId: number
  /** What the catalogue knows of the DAG. */
  dagSize: number
  charge: number
  contentSize: number
}

/** Thrown where a commit finds that it needs a hold that was not placed for it: it is placed, and all is done again. */
export class NeedsHold extends Error {}

/** A root that was staged, by the id of its hold. */
export interface StagedHold {
  id: string
  ledgerRootId: number
}

/** Holds that the ledger lets go of in one transaction. */
const STEP = 200
/** How long a commit may take from when its hold was begun; afterwards it is refused. By the database's clock. */
export const PLACING = `INTERVAL '10 minutes'`
/**
 * Of holds that are found by their ids. Said so that the index of those that are being placed does not answer it: where
 * statistics take that for empty, it would be gone through instead of the ids being looked up.
 */
export const IS_PLACING = "state NOT IN ('used', 'void')"

const NEW_HOLD = `INSERT INTO holds (id, node, root_id, state) SELECT 'hold ' || nextval('hold_numbers'), $1`
const ROOT = `id, dag_size AS "dagSize", charge, content_size AS "contentSize", listed, EXISTS (
  SELECT 1 FROM placements p WHERE p.multihash = roots.multihash AND p.codec = roots.codec
    AND p.backend_id = roots.backend_id AND p.placed) AS "isPlaced"`

interface RootFound {
  id: number
  dagSize: number
  charge: number
  contentSize: number
  listed: boolean
  /** Whether its backend, if that is elsewhere, has it. */
  isPlaced: boolean
}

/**
 * The holds by which this node's ledger keeps content for the catalogue, which is elsewhere. The catalogue has a hold's
 * id first (`placing`), the ledger places it, durably, and the commit that needs it turns it to `used`, or is refused.
 * What is no longer needed is turned to `void`, and only what was so turned is let go of. So whatever stops between two
 * of these steps, the ledger holds too much, and never too little.
 */
export class SharedHolds {
  readonly #database: Postgres
  readonly #ledger: CatalogueHolds
  /** By which the holds of this ledger are told from others'. */
  readonly node: string
  /** As what all nodes know the backends of this one. */
  readonly backend: SharedBackend
  #onGone: (dag: DagIdentity) => void = () => undefined

  constructor(database: Postgres, ledger: CatalogueHolds, node: string, backend: SharedBackend) {
    this.#database = database
    this.#ledger = ledger
    this.node = node
    this.backend = backend
  }

  /**
   * Has the ledger hold DAGs that are whole.
   *
   * @throws HoldfastError `CID_NOT_FOUND` if one of them is not here
   */
  async place(wanted: ReadonlyArray<Omit<WantedHold, 'id'>>): Promise<PlacedHold[]> {
    const begun: Array<WantedHold & PlacedHold & { isListed: boolean }> = []
    try {
      for (const hold of wanted) begun.push({ ...hold, ...(await this.#begin(hold.backendId, hold.dag)) })
      const roots = await this.#ledger.place(begun)
      if (roots === null) throw new HoldfastError('CID_NOT_FOUND', 'the content is no longer here')
      for (const [i, { rootId, isListed, dag }] of begun.entries()) {
        if (dag.fileCount > 0 && !isListed) await this.list(rootId, roots[i] ?? 0)
      }
      return begun
    } catch (error) {
      await this.giveUp(begun.map(({ id }) => id))
      throw error
    }
  }

  /** Holds more of a root that the catalogue has, one for each instant at which one ends. */
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
      await this.giveUp(made.map(({ id }) => id))
      throw new HoldfastError('CID_NOT_FOUND', 'the content is no longer here')
    }
    return made.map(({ id }): PlacedHold => ({ ...known, id }))
  }

  /** Starts a root that is filled step by step, and held meanwhile. @returns the id of the root in the ledger */
  async stage(backendId: number, now: number): Promise<StagedHold> {
    const id = await this.#beginPart()
    return { id, ledgerRootId: await this.#ledger.stage(id, backendId, now) }
  }

  /** Holds what is staged already. */
  async keep(stagedRootId: number): Promise<string> {
    const id = await this.#beginPart()
    await this.#ledger.keep(id, stagedRootId)
    return id
  }

  /** Part of the transaction that needs the hold. @throws HoldfastError `UNAVAILABLE` if that comes too late */
  async use(sql: Sql, id: string): Promise<void> {
    const used = await sql.run(`UPDATE holds SET state = 'used' WHERE id = $1 AND ${IS_PLACING}`, [id])
    if (used !== 1) throw new HoldfastError('UNAVAILABLE', 'it took too long to commit: its content was let go of')
  }

  /**
   * Part of the transaction after which the holds are not needed; the roots that these were the last of go with it. Other
   * nodes whose holds they are let go of them as soon as they are told, or next look.
   */
  async void(sql: Sql, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const voided = await sql.all<{ rootId: number | null; node: string }>(
      `UPDATE holds SET state = 'void' WHERE id = ANY($1) AND state <> 'void' RETURNING root_id AS "rootId", node`,
      [ids],
    )
    const others = new Set(voided.map(({ node }) => node))
    others.delete(this.node)
    for (const node of others) await tellNode(sql, node)
    await dropUnheld(sql, [...new Set(voided.flatMap(({ rootId }) => rootId ?? []))])
  }

  /** Gives up holds that no commit has used, or will. What fails here is left to {@link letGo}, and to a reconciliation. */
  async giveUp(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    try {
      await this.#database.transaction(async sql => {
        const text = `SELECT id FROM holds WHERE id = ANY($1) AND ${IS_PLACING} ORDER BY id FOR UPDATE`
        const unused = await sql.all<{ id: string }>(text, [ids])
        await this.void(
          sql,
          unused.map(({ id }) => id),
        )
      })
      await this.letGo()
    } catch {
      // They are held until somebody can tell.
    }
  }

  /** Gives up what this node has begun and no commit has used in time: it may have ended before the ledger had it. */
  async voidLate(): Promise<void> {
    for (let found = STEP; found === STEP; ) {
      found = await this.#database.transaction(async sql => {
        const late = await sql.all<{ id: string }>(
          `SELECT id FROM holds WHERE node = $1 AND state = 'placing' AND placed_at < clock_timestamp() - ${PLACING}
           ORDER BY placed_at LIMIT $2 FOR UPDATE SKIP LOCKED`,
          [this.node, STEP],
        )
        const ids = late.map(({ id }) => id)
        await this.void(sql, ids)
        return ids.length
      })
    }
  }

  /** Calls `told` with each DAG that this node holds no more, whoever has removed it. */
  gone(told: (dag: DagIdentity) => void): void {
    this.#onGone = told
  }

  /** Has the ledger let go of all that is void, in steps. Returns how many there were. */
  async letGo(): Promise<number> {
    let count = 0
    for (;;) {
      const found = await this.#database.reading.all<{ id: string }>(
        `SELECT id FROM holds WHERE node = $1 AND state = 'void' ORDER BY id LIMIT $2`,
        [this.node, STEP],
      )
      if (found.length === 0) break
      const ids = found.map(({ id }) => id)
      for (const dag of await this.#ledger.release(ids)) this.#onGone(dag)
      await this.#database.command(`DELETE FROM holds WHERE id = ANY($1) AND node = $2 AND state = 'void'`, [
        ids,
        this.node,
      ])
      count += ids.length
      if (ids.length < STEP) break
    }
    // Also if nothing was void: a process may have been killed between the two.
    await forgetFiles(this.#database)
    return count
  }

  /** Notes the files of a root, which the ledger has, where all nodes see them. */
  async list(rootId: number, ledgerRootId: number): Promise<void> {
    await noteFiles(this.#database, rootId, (offset, limit) => this.#ledger.files(ledgerRootId, offset, limit))
  }

  async #begin(backendId: number, dag: WholeDag): Promise<PlacedHold & { isListed: boolean; isPlaced: boolean }> {
    return this.#database.transaction(async sql => {
      const root = await putRoot(sql, this.backend(backendId), dag)
      const hold = await sql.first<{ id: string }>(`${NEW_HOLD}, $2::bigint, 'placing' RETURNING id`, [
        this.node,
        root.id,
      ])
      const { id: rootId, listed: isListed, ...known } = root
      return { ...known, id: idOf(hold), rootId, isListed }
    })
  }

  async #beginPart(): Promise<string> {
    return this.#database.transaction(async sql =>
      idOf(await sql.first<{ id: string }>(`${NEW_HOLD}, NULL, 'placing' RETURNING id`, [this.node])),
    )
  }
}

/** Has a node look, once the transaction has committed, what there is for it to do. */
export async function tellNode(sql: Sql, node: string): Promise<void> {
  await sql.run('SELECT pg_notify($1, $2)', [NODES_CHANNEL, node])
}

/** The root of a DAG, locked, so that it does not go before something holds it. @param backend as all nodes know it */
export async function putRoot(sql: Sql, backend: number, dag: WholeDag): Promise<RootFound> {
  const { codec, multihash, contentSize, dagSize, blocks, charge, fileCount } = dag
  const root = await sql.first<RootFound>(
    `INSERT INTO roots (backend_id, codec, multihash, content_size, dag_size, blocks, charge, file_count)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (multihash, codec, backend_id) DO UPDATE SET backend_id = excluded.backend_id RETURNING ${ROOT}`,
    [backend, codec, multihash, contentSize, dagSize, blocks, charge, fileCount],
  )
  if (root === undefined) throw new HoldfastError('INTERNAL_ERROR', 'the catalogue forgets')
  return root
}

/** Roots that nothing holds go, with their files; what is kept of them elsewhere is not wanted any more. */
async function dropUnheld(sql: Sql, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  // What places a hold has the row locked: only afterwards can be seen what holds it.
  await sql.run('SELECT 1 FROM roots WHERE id = ANY($1) ORDER BY id FOR UPDATE', [ids])
  const gone = await sql.all<{ id: number }>(
    `WITH gone AS (
       DELETE FROM roots WHERE id = ANY($1)
         AND NOT EXISTS (SELECT 1 FROM holds WHERE holds.root_id = roots.id AND holds.state <> 'void')
       RETURNING id, backend_id, codec, multihash, file_count
     ), unwanted AS (
       UPDATE placements p SET wanted = FALSE, placed = FALSE, generation = generation + 1
       FROM gone WHERE p.multihash = gone.multihash AND p.codec = gone.codec AND p.backend_id = gone.backend_id
         AND p.wanted
       RETURNING p.id, p.backend_id, p.account_id
     ), queued AS (
       INSERT INTO jobs (kind, key, queue, account_id, due_at)
       SELECT 'placement', id, backend_id::text, account_id, 0 FROM unwanted
       ON CONFLICT (kind, key) DO UPDATE SET due_at = 0, attempts = 0, leased_until = NULL
     )
     SELECT id FROM gone WHERE file_count > 0`,
    [ids],
  )
  if (gone.length === 0) return
  await sql.run('INSERT INTO roots_gone SELECT unnest($1::bigint[])', [gone.map(({ id }) => id)])
}

function idOf(hold: { id: string } | undefined): string {
  if (hold === undefined) throw new HoldfastError('INTERNAL_ERROR', 'the catalogue forgets')
  return hold.id
}
