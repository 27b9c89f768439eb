import type { PoolClient } from 'pg'
import { HoldfastError } from '../../src/domain/errors.ts'

/** How long one that has just ended may still seem to be there. */
const WAIT = '2s'
/** Not to be refused: somebody else has it (`lock_not_available`). */
const IS_TAKEN = '55P03'
/** A machine that vanished is noticed within 25 seconds; those of a server that is not reached over TCP have no effect. */
const NOTICE_SOON = `SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3`
/** Numbers of locks are those of a database: others may have some of their own. */
const LOCK = `hashtextextended('holdfast node ' || $1, 0)`

/**
 * That one process at a time is a node: a copy of its data directory would let go of what the other holds. It lasts as long
 * as a connection, so whatever becomes of the process, the next can have it.
 */
export class NodeClaim {
  readonly #name: string
  #isTaken = false

  /** @param name of the data directory */
  constructor(name: string) {
    this.#name = name
  }

  /** Takes it, by a connection that is kept. @throws HoldfastError `DATA_DIR_IN_USE` if another process has it */
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

  /** The connection it was taken by is gone. */
  lost(): void {
    this.#isTaken = false
  }

  /** Takes it by another connection, if nobody has it: this process's last may still seem to be there. */
  async takeAgain(connection: PoolClient): Promise<void> {
    if (this.#isTaken) return
    const { rows } = await connection.query<{ taken: boolean }>(`SELECT pg_try_advisory_lock(${LOCK}) AS taken`, [
      this.#name,
    ])
    this.#isTaken = rows[0]?.taken === true
    if (this.#isTaken) await connection.query(NOTICE_SOON)
  }
}
