import type { KnownTakedown, TakedownRow, TakedownRows } from '../../src/catalogue/takedown-rows.ts'
import type { Postgres } from './database/postgres.ts'

const AT_ONCE = 1_000

/** Stores the takedowns, which all nodes share. A database trigger notifies each node of every change. */
export class PostgresTakedowns implements TakedownRows {
  readonly #database: Postgres

  constructor(database: Postgres) {
    this.#database = database
  }

  async all(): Promise<KnownTakedown[]> {
    const all: KnownTakedown[] = []
    for (let after = 0; ; ) {
      const some = await this.#database.reading.all<KnownTakedown & { seq: number }>(
        `SELECT seq, cid, path, status, reason, at, lifted_at AS "liftedAt" FROM takedowns
         WHERE seq > $1 ORDER BY seq LIMIT $2`,
        [after, AT_ONCE],
      )
      for (const { seq, ...takedown } of some) {
        all.push(takedown)
        after = seq
      }
      if (some.length < AT_ONCE) return all
    }
  }

  async put({ cid, path, status, reason, at }: TakedownRow): Promise<void> {
    await this.#database.transaction(async sql => {
      // With a new row, the renewed takedown gets a new `seq` and comes last.
      await sql.run('DELETE FROM takedowns WHERE cid = $1 AND path = $2 AND lifted_at IS NOT NULL', [cid, path])
      await sql.run(
        `INSERT INTO takedowns (cid, path, status, reason, at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (cid, path) DO UPDATE
           SET status = excluded.status, reason = excluded.reason, at = excluded.at, lifted_at = NULL`,
        [cid, path, status, reason, at],
      )
    })
  }

  async lift({ cid, path }: Pick<TakedownRow, 'cid' | 'path'>, at: number): Promise<boolean> {
    const text = 'UPDATE takedowns SET lifted_at = $3 WHERE cid = $1 AND path = $2 AND lifted_at IS NULL'
    return (await this.#database.command(text, [cid, path, at])) > 0
  }

  async adopt(takedowns: readonly TakedownRow[]): Promise<void> {
    const column = <K extends keyof TakedownRow>(name: K): Array<TakedownRow[K]> => takedowns.map(one => one[name])
    await this.#database.command(
      `INSERT INTO takedowns (cid, path, status, reason, at)
       SELECT cid, path, status, reason, at
       FROM unnest($1::text[], $2::text[], $3::integer[], $4::text[], $5::bigint[])
         WITH ORDINALITY AS given (cid, path, status, reason, at, place)
       ORDER BY place ON CONFLICT DO NOTHING`,
      [column('cid'), column('path'), column('status'), column('reason'), column('at')],
    )
  }
}
