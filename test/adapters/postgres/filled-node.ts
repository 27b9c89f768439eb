import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'

const NUMBER = 7
const DAG = `decode(md5($1 || n), 'hex')`

/** Inserts a node that is gone, and records of an account whose content was on it. Each has another content. */
export async function filledWith(
  database: Postgres,
  { name, account, records }: { name: string; account: string; records: number },
): Promise<void> {
  const backend = NUMBER * 65_536
  await database.command("INSERT INTO nodes (name, number, id, url) VALUES ($1, $2, $1, 'http://gone')", [name, NUMBER])
  await database.command(
    `INSERT INTO roots (backend_id, codec, multihash, content_size, dag_size, blocks, charge, file_count)
     SELECT $2, 85, ${DAG}, 1, 1, 1, 512, 0 FROM generate_series(1, $3::integer) n`,
    [name, backend, records],
  )
  await database.command(
    `INSERT INTO holds (id, node, root_id, state) SELECT 'hold ' || nextval('hold_numbers'), $1, id, 'used'
     FROM roots WHERE backend_id = $2 ORDER BY id`,
    [name, backend],
  )
  await database.command(
    `INSERT INTO records (id, account_id, cluster_id, cid, codec, multihash, root_id, hold_id, type, status, status_at,
       name, size, dag_size, charge, created_at, identity, words)
     SELECT 'r' || r.id, $1, 'near', 'c' || r.id, 85, multihash, r.id, h.id, 'file', 'pinned', 0, 'n', 1, 1, 512, 0,
       multihash, '{}'
     FROM roots r JOIN holds h ON h.root_id = r.id WHERE r.backend_id = $2`,
    [account, backend],
  )
  await database.command('UPDATE accounts SET pins = pins + $2, stored_bytes = stored_bytes + 512 * $2 WHERE id = $1', [
    account,
    records,
  ])
}
