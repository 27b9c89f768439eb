import type { Census, StateCount } from '../../src/catalogue/census.ts'
import type { Postgres } from './database/postgres.ts'

/** Kinds of rows counted in this node's ledger. */
const LEDGER = new Set(['roots', 'blocks', 'garbage'])

/** Reads no whole tables: sums the counters of accounts, and counts only the records that are not pinned. */
export class PostgresCensus implements Census {
  readonly #database: Postgres
  readonly #ledger: Census

  constructor(database: Postgres, ledger: Census) {
    this.#database = database
    this.#ledger = ledger
  }

  async counters(): Promise<StateCount[]> {
    const { reading } = this.#database
    const accounts = await reading.all<StateCount & { pins: number }>(
      `SELECT 'accounts' AS kind, CASE WHEN deleted_at IS NULL THEN '' ELSE 'deleted' END AS state, COUNT(*) AS count,
         COALESCE(SUM(stored_bytes), 0)::bigint AS bytes, COALESCE(SUM(pins), 0)::bigint AS pins
       FROM accounts GROUP BY 2`,
    )
    const waiting = await reading.all<{ state: string; count: number }>(
      `SELECT status AS state, COUNT(*) AS count FROM records WHERE status IN ('queued', 'pinning') GROUP BY status
       UNION ALL SELECT 'failed', COUNT(*) FROM records WHERE status = 'failed'`,
    )
    const pins = accounts.reduce((sum, { pins }) => sum + pins, 0)
    const notPinned = waiting.reduce((sum, { count }) => sum + count, 0)
    const records = [...waiting, { state: 'pinned', count: Math.max(0, pins - notPinned) }]
    return [
      ...(await this.#ledger.counters()).filter(({ kind }) => LEDGER.has(kind)),
      ...accounts.map(({ pins: _, ...counted }) => counted),
      ...records.map(({ state, count }) => ({ kind: 'records', state, count, bytes: 0 })),
    ]
  }

  async oldestFetchAt(): Promise<number | null> {
    const found = await this.#database.reading.first<{ at: number | null }>(
      `SELECT MIN(at) AS at FROM (
         (SELECT created_at AS at FROM fetches WHERE running ORDER BY id LIMIT 1)
         UNION ALL (SELECT f.created_at FROM jobs j JOIN fetches f ON f.id = j.key
            WHERE j.kind = 'fetch' AND j.due_at IS NOT NULL ORDER BY j.key LIMIT 1)) AS oldest`,
    )
    return found?.at ?? null
  }

  databaseBytes(): number {
    return this.#ledger.databaseBytes()
  }
}
