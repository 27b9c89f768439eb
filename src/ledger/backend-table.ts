import type { Database } from '../storage/database.ts'

/** A data directory that belongs to a cluster. */
export interface BackendRow {
  id: number
  dataDir: string
  /** What the directory's own file says; null for one that a version without such files has made. */
  identity: string | null
  /** The clusters that used it last, separated by spaces; empty if that was not noted. */
  clusterIds: string
}

const COLUMNS = 'id, data_dir AS dataDir, identity, cluster_ids AS clusterIds'

export function backendAt(db: Database, dataDir: string): BackendRow | undefined {
  return db.prepare<[string], BackendRow>(`SELECT ${COLUMNS} FROM backends WHERE data_dir = ?`).get(dataDir)
}

export function backendOf(db: Database, identity: string): BackendRow | undefined {
  return db.prepare<[string], BackendRow>(`SELECT ${COLUMNS} FROM backends WHERE identity = ?`).get(identity)
}

/** Those of clusters with a data directory of their own. */
export function backends(db: Database): BackendRow[] {
  return db.prepare<[], BackendRow>(`SELECT ${COLUMNS} FROM backends`).all()
}

/** Gives a data directory a number in the ledger. Returns it. */
export function insertBackend(db: Database, dataDir: string, identity: string): number {
  const insert = db.prepare<[string, string]>('INSERT INTO backends (data_dir, identity) VALUES (?, ?)')
  return Number(insert.run(dataDir, identity).lastInsertRowid)
}

export function updateBackend(db: Database, { id, dataDir, identity }: Omit<BackendRow, 'clusterIds'>): void {
  db.prepare<[string, string | null, number]>('UPDATE backends SET data_dir = ?, identity = ? WHERE id = ?').run(
    ...([dataDir, identity, id] as const),
  )
}

/** Notes which clusters use a directory, to name them when none does. */
export function setClusters(db: Database, backendId: number, clusterIds: string): void {
  db.prepare<[string, number]>('UPDATE backends SET cluster_ids = ? WHERE id = ?').run(clusterIds, backendId)
}

/** Whether the ledger knows of anything in a data directory. */
export function hasBlocks(db: Database, backendId: number): boolean {
  return db.prepare<[number]>('SELECT 1 FROM blocks WHERE backend_id = ? LIMIT 1').get(backendId) !== undefined
}

/** Whether a data directory has a whole DAG. Reads the index of all roots where it has none, so at starts alone. */
export function hasRoots(db: Database, backendId: number): boolean {
  const sql = `SELECT 1 FROM roots INDEXED BY roots_by_dag WHERE state = 'complete' AND backend_id = ? LIMIT 1`
  return db.prepare<[number]>(sql).get(backendId) !== undefined
}
