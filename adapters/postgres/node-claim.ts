import type { PoolClient } from 'pg'
import { HoldfastError } from '../../src/domain/errors.ts'

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

/**
 * A lock that allows only one process to run as a node. The server frees the lock when the connection ends.
 *
 * Two processes on copies of one data directory would release each other's holds.
 */
export class NodeClaim {
  readonly #name: string
  #isTaken = false

  constructor(name: string) {
    this.#name = name
  }

  /**
   * Acquires the lock over a connection that the caller keeps open.
   *
   * @throws HoldfastError `DATA_DIR_IN_USE` if another process has the lock
   */
  async take(connection: PoolClient): Promise<void> {
    await connection.query(`${NOTICE_SOON}; SET lock_timeout = '${WAIT}'`)
    try {
      await connection.query(`SELECT pg_advisory_lock(${LOCK})`, [this.#name])
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
   * Acquires the lock again after its connection was lost. Fails while the server still counts the old connection as
   * open.
   */
  async takeAgain(connection: PoolClient): Promise<void> {
    if (this.#isTaken) return
    const { rows } = await connection.query<{ taken: boolean }>(`SELECT pg_try_advisory_lock(${LOCK}) AS taken`, [
      this.#name,
    ])
    this.#isTaken = rows[0]?.taken === true
    if (this.#isTaken) await connection.query(NOTICE_SOON)
  }
}
