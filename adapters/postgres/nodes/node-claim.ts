import type { PoolClient } from 'pg'
import { HoldfastError } from '../../../src/domain/errors.ts'
import { IS_GIVEN_UP } from './node-states.ts'

/** Timeout for the lock. The server may notice the end of the previous process late. */
const WAIT = '2s'
const IS_TAKEN = '55P03'
/** With these settings the server detects a vanished client within 25 seconds, but not on a Unix socket. */
const NOTICE_SOON = `SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3`
/** All advisory locks of a database share one number space, so the name in the hash has a prefix. */
const LOCK = claimOf('$1')

/** Returns the SQL expression for the key of a node's lock. */
export function claimOf(name: string): string {
  return `hashtextextended('holdfast node ' || ${name}, 0)`
}

/** Returns the SQL condition: a row of `pg_locks` is the lock of a node. */
export function isClaimOf(name: string): string {
  return `locktype = 'advisory' AND objsubid = 1 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (classid::bigint << 32 | objid::bigint) = ${claimOf(name)}`
}

const TRY = `SELECT pg_try_advisory_lock(${LOCK}) AS taken, pg_backend_pid() AS pid`
/**
 * SQL query: why no process may run as the node `$1` over this connection. `$2` is the connection that had the lock last.
 * The server may still count it as open.
 */
export const REFUSAL = `SELECT CASE
  WHEN EXISTS (SELECT 1 FROM nodes WHERE name = $1 AND ${IS_GIVEN_UP})
    THEN 'this node was given up, or has retired'
  WHEN EXISTS (SELECT 1 FROM pg_locks WHERE ${isClaimOf('$1')} AND pid <> $2)
    THEN 'another process runs as this node, with a copy of its data directory' END AS refusal`

/**
 * A lock that allows only one process to run as a node. The server frees the lock when the connection ends.
 *
 * Two processes on copies of one data directory would release each other's holds.
 */
export class NodeClaim {
  readonly #name: string
  readonly #onRefusal: (problem: string) => void
  #isTaken = false
  /** Process id, on the server, of the connection that had the lock last. */
  #pid = 0
  #refusal: string | null = null

  constructor(name: string, onRefusal: (problem: string) => void = () => undefined) {
    this.#name = name
    this.#onRefusal = onRefusal
  }

  /** Why this process may not run as the node, by the last check. Null if it may. */
  get refusal(): string | null {
    return this.#refusal
  }

  /**
   * Acquires the lock over a connection that the caller keeps open.
   *
   * @throws HoldfastError `DATA_DIR_IN_USE` if another process has the lock
   */
  async take(connection: PoolClient): Promise<void> {
    await connection.query(`${NOTICE_SOON}; SET lock_timeout = '${WAIT}'`)
    try {
      const text = `SELECT pg_advisory_lock(${LOCK}), pg_backend_pid() AS pid`
      const { rows } = await connection.query<{ pid: number }>(text, [this.#name])
      this.#pid = rows[0]?.pid ?? 0
    } catch (cause) {
      if (!(cause instanceof Error && 'code' in cause && cause.code === IS_TAKEN)) throw cause
      const message = 'another process is running with this data directory, or with a copy of it, on the same database'
      throw new HoldfastError('DATA_DIR_IN_USE', message, { cause })
    }
    await connection.query('RESET lock_timeout')
    this.#isTaken = true
  }

  /** Releases the lock, and keeps the connection open. */
  async release(connection: PoolClient): Promise<void> {
    this.#isTaken = false
    await connection.query(`SELECT pg_advisory_unlock(${LOCK})`, [this.#name])
  }

  lost(): void {
    this.#isTaken = false
  }

  /**
   * Acquires the lock again after its connection was lost. Does not get it while the server still counts the old
   * connection as open.
   *
   * @throws HoldfastError `UNAVAILABLE` if the node was given up meanwhile, or another process has the lock
   */
  async takeAgain(connection: PoolClient): Promise<void> {
    if (this.#isTaken) return
    const tried = await connection.query<{ taken: boolean; pid: number }>(TRY, [this.#name])
    const [{ taken, pid } = { taken: false, pid: 0 }] = tried.rows
    if (taken) this.#pid = pid
    // Nobody gives up a node whose lock is taken, so read the state after the lock.
    const { rows } = await connection.query<{ refusal: string | null }>(REFUSAL, [this.#name, this.#pid])
    this.#refuse(rows[0]?.refusal ?? null)
    if (taken) await connection.query(NOTICE_SOON)
    this.#isTaken = taken
  }

  #refuse(refusal: string | null): void {
    if (refusal !== null && refusal !== this.#refusal) this.#onRefusal(refusal)
    this.#refusal = refusal
    if (refusal !== null) throw new HoldfastError('UNAVAILABLE', refusal)
  }
}
