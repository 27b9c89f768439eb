import type { PoolClient } from 'pg'
import { HoldfastError } from '../../src/domain/errors.ts'

/** Timeout for the lock. The server may notice only after a while that the previous process has ended. */
const WAIT = '2s'
/** SQLSTATE `lock_not_available`: another process has the lock. */
const IS_TAKEN = '55P03'
/**
 * TCP keepalive settings with which the server detects a vanished client within 25 seconds. They have no effect on a
 * Unix socket.
 */
const NOTICE_SOON = `SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3`
/**
 * SQL expression for the number of the advisory lock. All advisory locks of a database share one number space, so the
 * number is the hash of a prefixed name.
 */
const LOCK = `hashtextextended('holdfast node ' || $1, 0)`

/**
 * A lock that allows only one process to run as a node.
 *
 * Two processes on copies of the same data directory would release each other's holds. The server frees the lock when
 * the connection ends, even after a crash.
 */
export class NodeClaim {
  readonly #name: string
  #isTaken = false

  /** @param name the name of the data directory */
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

  /** Records that the connection with the lock is closed. */
  lost(): void {
    this.#isTaken = false
  }

  /**
   * If the lock was lost, tries to acquire the lock over a new connection. The attempt fails while the server still
   * counts the old connection as open.
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
