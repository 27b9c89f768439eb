import type { CopySets } from '../../../src/catalogue/copies.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'
import { Postgres } from '../database/postgres.ts'
import type { Sql } from '../database/sql.ts'
import { READS_FRAMES } from '../nodes/node-states.ts'

const WALK = 'SELECT 1 FROM copy_walk'

/** Returns whether a cluster wants copies, or a node retires. */
export async function hasCopies(sql: Pick<Sql, 'first'>): Promise<boolean> {
  return (await sql.first(WALK)) !== undefined
}

interface CopySet {
  clusterId: string
  nodes: string[]
  copies: number
}

/** The configured sets of a node. Null if the node runs 0.3.0, or ran it last. */
type Configured = { sets: string | null }

const CONFIGURED = `
  SELECT CASE WHEN ${READS_FRAMES} THEN copy_sets END AS sets FROM nodes WHERE state IN ('active', 'retiring')`
const SETS = 'SELECT cluster_id AS "clusterId", nodes, copies FROM copy_sets ORDER BY cluster_id, nodes, copies'
const WANT = `
  INSERT INTO copy_sets (cluster_id, nodes, copies) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`
const RESTART = `
  INSERT INTO copy_walk (place, agreed) VALUES (0, $1) ON CONFLICT (one) DO UPDATE SET place = 0, agreed = $1, keep_until = 0`
const WALK_FOR_MOVES = `
  INSERT INTO copy_walk (place, agreed) VALUES (0, TRUE) ON CONFLICT (one) DO UPDATE SET place = 0`
const FREE_RETIRING = `
  UPDATE copies SET due_at = 0 WHERE state = 'surplus' AND due_at > 0
    AND node = ANY(ARRAY(SELECT name FROM nodes WHERE state = 'retiring'))`
const AGREE = 'UPDATE copy_walk SET agreed = $1 WHERE agreed <> $1'
const TRIGGERS = [
  ...['insert', 'delete', 'update', 'kept'].map(on => ['records', `records_copies_${on}`]),
  ...['delete', 'update', 'kept'].map(on => ['removed_records', `removed_records_copies_${on}`]),
]
const INDEXES = {
  /** Finds whether a cluster has records of a root. No other query has the condition, so no other uses the index. */
  records_by_cluster: 'records (root_id, cluster_id) WHERE root_id > 0',
  /** Finds the few copies that their node has not compared in any run. */
  copies_uncompared: 'copies (node, id) WHERE hold_id IS NOT NULL AND run IS NULL',
}
const IS_BROKEN = 'SELECT 1 FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid'
const LOCK_RECORDS = 'LOCK TABLE records, removed_records IN SHARE ROW EXCLUSIVE MODE'
const IS_OVER = `
  SELECT 1 FROM copy_walk WHERE place IS NULL AND NOT EXISTS (SELECT 1 FROM copy_sets)
    AND (SELECT id FROM copies ORDER BY id LIMIT 1) IS NULL AND NOT EXISTS (SELECT 1 FROM nodes WHERE state IN ('retiring', 'forgetting'))`
const IS_FOLLOWED = `SELECT 1 FROM pg_trigger WHERE tgname = 'records_copies_insert' AND tgenabled <> 'D'
  AND tgrelid = to_regclass('records')`

/**
 * Prepares the database for copies, unless it is prepared. Records are read and written meanwhile. Call this before
 * {@link wantSets}.
 */
export async function prepareCopies(url: string): Promise<void> {
  const database = await Postgres.open({ url, connections: 1, answerMs: null })
  try {
    for (const [name, rows] of Object.entries(INDEXES)) {
      // A kill during the creation leaves an index that no query uses.
      if ((await database.reading.first(IS_BROKEN, [name])) !== undefined)
        await database.writeRows(`DROP INDEX ${name}`, [])
      await database.writeRows(`CREATE INDEX CONCURRENTLY IF NOT EXISTS ${name} ON ${rows}`, [])
    }
  } finally {
    await database.close()
  }
}

/**
 * Decides which sets are wanted. A set of the configurations is wanted at once. One that was wanted ends when all nodes
 * have been started with the same sets. While a node of 0.3.0 is left, nothing changes.
 *
 * Each change starts a walk over the content. The lock of the triggers waits for the transactions that the walk could not
 * see, and later ones follow the new sets.
 */
export async function wantSets(sql: Sql): Promise<void> {
  const configured = await sql.all<Configured>(CONFIGURED)
  const wanted = await sql.all<CopySet>(SETS)
  const all = configured.map(({ sets }) => (sets === null ? null : setsIn(JSON.parse(sets) as CopySets)))
  const named = all.flatMap(sets => sets ?? [])
  if (all.includes(null) || (wanted.length === 0 && named.length === 0)) return
  const [first = []] = all.map(sets => sets ?? [])
  const agreed = all.every(sets => keysOf(sets ?? []) === keysOf(first))
  const next = new Map([...(agreed ? [] : wanted), ...named].map(set => [keyOf(set), set]))
  if (keysOf(wanted) === keysOf([...next.values()])) return void (await sql.run(AGREE, [agreed]))
  await follow(sql)
  await sql.run('DELETE FROM copy_sets')
  for (const { clusterId, nodes, copies } of next.values()) await sql.run(WANT, [clusterId, nodes, copies])
  await sql.run(RESTART, [agreed])
}

/**
 * Checks that the nodes of all sets have joined.
 *
 * @param known the ids of the nodes that may be named
 * @throws HoldfastError `CONFIG_INVALID`
 */
export function checkSets(sets: CopySets, known: ReadonlySet<string>): void {
  for (const [cluster, { nodes }] of Object.entries(sets)) {
    const unknown = nodes.find(id => !known.has(id))
    if (unknown === undefined) continue
    const problem = `clusters: ${cluster} names the node ${unknown}, which has never joined`
    throw new HoldfastError('CONFIG_INVALID', `${problem}: correct nodes, or name it in node.expected until it joins`)
  }
}

/** Lets the content of a node that retires move to copies, also if no cluster wants any. */
export async function wantMoves(database: Postgres): Promise<void> {
  await database.transaction(async sql => {
    await sql.run('LOCK TABLE nodes IN EXCLUSIVE MODE')
    await follow(sql)
    await sql.run(WALK_FOR_MOVES)
    // Such a node keeps no copies that an absence has made.
    await sql.run(FREE_RETIRING)
  })
}

/** Disables the triggers if nothing needs them any more, so that a fleet with one copy pays for none. */
export async function endFollowing(database: Postgres): Promise<void> {
  if ((await database.reading.first(IS_OVER)) === undefined) return
  await database.transaction(async sql => {
    await sql.run('LOCK TABLE nodes IN EXCLUSIVE MODE')
    await sql.run(LOCK_RECORDS)
    // A walk that runs now may still insert copies.
    await sql.all(`${WALK} FOR UPDATE`)
    if ((await sql.first(IS_OVER)) === undefined) return
    await turn(sql, 'DISABLE')
    await sql.run('DELETE FROM copy_walk')
  })
}

/** Returns a cluster that a configuration has on a node, perhaps among others. */
export function clusterOn(
  node: string,
  clusterNodes: Readonly<Record<string, string>>,
  sets: CopySets,
): string | undefined {
  const named = Object.entries(clusterNodes).find(([, first]) => first === node)
  return (named ?? Object.entries(sets).find(([, { nodes }]) => nodes.includes(node)))?.[0]
}

/** Enables the triggers that follow the records, and waits for the transactions that write records now. */
async function follow(sql: Sql): Promise<void> {
  await sql.run(LOCK_RECORDS)
  if ((await sql.first(IS_FOLLOWED)) === undefined) await turn(sql, 'ENABLE')
}

async function turn(sql: Sql, to: 'ENABLE' | 'DISABLE'): Promise<void> {
  for (const [table, name] of TRIGGERS) {
    await sql.run(`ALTER TABLE ${table} ${to} TRIGGER ${name}`)
  }
}

function setsIn(sets: CopySets): CopySet[] {
  return Object.entries(sets).map(([clusterId, { nodes, copies }]) => ({ clusterId, nodes: [...nodes], copies }))
}

function keyOf({ clusterId, nodes, copies }: CopySet): string {
  return JSON.stringify([clusterId, nodes, copies])
}

function keysOf(sets: readonly CopySet[]): string {
  return sets.map(keyOf).sort().join('\n')
}
