import type { Postgres } from '../database/postgres.ts'

/**
 * Checks that all nodes seal secrets in this database with the same key. The first node chooses the key.
 *
 * @param open opens this node's key and returns its name. It may create a key if `expected` is null, and must throw for
 * a key other than the expected one.
 */
export async function agreeOnKey(database: Postgres, open: (expected: string | null) => string): Promise<void> {
  await database.transaction(async sql => {
    await sql.run('LOCK TABLE sealing_key IN EXCLUSIVE MODE')
    const known = await sql.first<{ id: string }>('SELECT id FROM sealing_key LIMIT 1')
    const id = open(known?.id ?? null)
    if (known === undefined) await sql.run('INSERT INTO sealing_key (id) VALUES ($1)', [id])
  })
}
