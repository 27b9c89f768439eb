import type { Database } from '../storage/database.ts'

/** A backend with its own data directory. */
export interface BackendRow {
  id: number
  dataDir: string
  /** Text of the identity file in the directory; null if an early version created the directory without one. */
  identity: string | null
  /** Ids of the clusters that last used the directory, separated by spaces; empty if unknown. */
  clusterIds: string
}

const OWNER_COLUMN = "SELECT 1 FROM pragma_table_info('roots') WHERE name = 'owner'"
const COLUMNS = 'id, data_dir AS dataDir, identity, cluster_ids AS clusterIds'

export function backendAt(db: Database, dataDir: string): BackendRow | undefined {
  return db.prepare<[string], BackendRow>(`SELECT ${COLUMNS} FROM backends WHERE data_dir = ?`).get(dataDir)
}

export function backendOf(db: Database, identity: string): BackendRow | undefined {
  return db.prepare<[string], BackendRow>(`SELECT ${COLUMNS} FROM backends WHERE identity = ?`).get(identity)
}

export function backends(db: Database): BackendRow[] {
  return db.prepare<[], BackendRow>(`SELECT ${COLUMNS} FROM backends`).all()
}

/** Returns the id of the new backend. */
export function insertBackend(db: Database, dataDir: string, identity: string): number {
  const insert = db.prepare<[string, string]>('INSERT INTO backends (data_dir, identity) VALUES (?, ?)')
  return Number(insert.run(dataDir, identity).lastInsertRowid)
}

export function updateBackend(db: Database, { id, dataDir, identity }: Omit<BackendRow, 'clusterIds'>): void {
  db.prepare<[string, string | null, number]>('UPDATE backends SET data_dir = ?, identity = ? WHERE id = ?').run(
    ...([dataDir, identity, id] as const),
  )
}

/** Stores which clusters use a directory, for the error message if no cluster uses the directory later. */
export function setClusters(db: Database, backendId: number, clusterIds: string): void {
  db.prepare<[string, number]>('UPDATE backends SET cluster_ids = ? WHERE id = ?').run(clusterIds, backendId)
}

export function hasBlocks(db: Database, backendId: number): boolean {
  return db.prepare<[number]>('SELECT 1 FROM blocks WHERE backend_id = ? LIMIT 1').get(backendId) !== undefined
}

/**
 * Returns whether the directory has a complete root. Only for the start of the node, because the query may scan the
 * index of all roots.
 */
export function hasRoots(db: Database, backendId: number): boolean {
  const has = (owned: string) => `SELECT 1 FROM roots WHERE state = 'complete' AND backend_id = ? ${owned}`
  // A check of the start also reads databases that have no owners yet.
  if (db.prepare(OWNER_COLUMN).get() === undefined) {
    return db.prepare<[number]>(has('LIMIT 1')).get(backendId) !== undefined
  }
  const sql = `${has('AND owner = 0')} UNION ALL ${has('AND owner <> 0')} LIMIT 1`
  return db.prepare<[number, number]>(sql).get(backendId, backendId) !== undefined
}
