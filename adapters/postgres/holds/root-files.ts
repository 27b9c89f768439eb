import type { RootFile } from '../../../src/ledger/whole-dag.ts'
import type { Postgres } from '../database/postgres.ts'

const STEP = 1_000

/** Stores the files in steps. Repeating a step changes nothing. */
export async function storeFiles(
  database: Postgres,
  rootId: number,
  read: (offset: number, limit: number) => RootFile[],
): Promise<void> {
  for (let offset = 0; ; offset += STEP) {
    const files = read(offset, STEP)
    await database.command(
      `INSERT INTO root_files (root_id, position, path, codec, multihash, size, owner)
       SELECT roots.id, $2 + n - 1, path, file.codec, file.multihash, size, roots.owner
       FROM roots CROSS JOIN unnest($3::text[], $4::bigint[], $5::bytea[], $6::bigint[])
         WITH ORDINALITY AS file (path, codec, multihash, size, n)
       WHERE roots.id = $1
       ON CONFLICT (root_id, position) DO NOTHING`,
      [
        rootId,
        offset,
        files.map(file => file.path),
        files.map(file => file.codec),
        files.map(file => file.multihash),
        files.map(file => file.size),
      ],
    )
    if (files.length < STEP) break
  }
  await database.command('UPDATE roots SET listed = TRUE WHERE id = $1', [rootId])
}

export async function deleteFiles(database: Postgres): Promise<void> {
  for (;;) {
    const next = await database.reading.first<{ rootId: number }>(
      'SELECT root_id AS "rootId" FROM roots_gone ORDER BY root_id LIMIT 1',
    )
    if (next === undefined) return
    const text = `DELETE FROM root_files WHERE root_id = $1 AND position = ANY(ARRAY(
      SELECT position FROM root_files WHERE root_id = $1 ORDER BY position LIMIT $2))`
    const gone = await database.command(text, [next.rootId, STEP])
    if (gone < STEP) await database.command('DELETE FROM roots_gone WHERE root_id = $1', [next.rootId])
  }
}
