import type { Postgres } from './postgres.ts'

/**
 * Has all nodes seal what they keep here with one key: the first that comes decides. A node without a key of its own
 * makes none before it knows whether others have one.
 *
 * @param open opens the key of this node, and returns the key's name
 * @param expected null for the first
 * @throws HoldfastError what `open` throws, which has to refuse any other key than the expected one
 */
export async function agreeOnKey(database: Postgres, open: (expected: string | null) => string): Promise<void> {
  await database.transaction(async sql => {
    await sql.run('LOCK TABLE sealing_key IN EXCLUSIVE MODE')
    const known = await sql.first<{ id: string }>('SELECT id FROM sealing_key LIMIT 1')
    const id = open(known?.id ?? null)
    if (known === undefined) await sql.run('INSERT INTO sealing_key (id) VALUES ($1)', [id])
  })
}
