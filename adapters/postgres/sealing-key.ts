import type { Postgres } from './postgres.ts'

/**
 * Checks that all nodes seal secrets in this database with the same key. The first node decides which.
 *
 * @param open opens this node's key, or creates one if null is expected, and returns its name
 * @param expected the name of the key; null for the first node
 * @throws HoldfastError from `open`, which must refuse any key but the expected one
 */
export async function agreeOnKey(database: Postgres, open: (expected: string | null) => string): Promise<void> {
  await database.transaction(async sql => {
    await sql.run('LOCK TABLE sealing_key IN EXCLUSIVE MODE')
    const known = await sql.first<{ id: string }>('SELECT id FROM sealing_key LIMIT 1')
    const id = open(known?.id ?? null)
    if (known === undefined) await sql.run('INSERT INTO sealing_key (id) VALUES ($1)', [id])
  })
}
