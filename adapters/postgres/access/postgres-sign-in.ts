import type {
  AttemptDecision,
  AttemptStore,
  ChallengeStore,
  LoginChallenge,
  SharedSignIn,
} from '../../../src/catalogue/sign-in.ts'
import type { RateLimit } from '../../../src/domain/plan.ts'
import { decideInWindow, type KeptWindow } from '../../../src/domain/rate-limiter.ts'
import type { Sealing } from '../../../src/domain/sealing.ts'
import type { Postgres } from '../database/postgres.ts'
import { PostgresSigningKeys } from './postgres-signing-keys.ts'
import { PostgresRequestWindows } from './request-windows.ts'

/** @param sealing seals the signing keys; all nodes must use the same sealing key */
export function postgresSignIn(database: Postgres, sealing: Sealing): SharedSignIn {
  return {
    attempts: kind => new PostgresAttempts(database, kind),
    challenges: new PostgresChallenges(database),
    signingKeys: new PostgresSigningKeys(database, sealing),
    requests: new PostgresRequestWindows(database),
  }
}

/** Maximum number of expired rows that each insertion deletes. It exceeds one, so that the table shrinks. */
const SWEPT = 4
const inMs = (time: string): string => `EXTRACT(EPOCH FROM ${time})::float8 * 1000`

class PostgresAttempts implements AttemptStore {
  readonly #database: Postgres
  readonly #kind: string

  constructor(database: Postgres, kind: string) {
    this.#database = database
    this.#kind = kind
  }

  take(key: string, limit: RateLimit): Promise<AttemptDecision> {
    return this.#database.transaction(async sql => {
      await sql.run(
        `DELETE FROM attempts WHERE ctid = ANY(ARRAY(
           SELECT ctid FROM attempts WHERE ends_at < now() ORDER BY ends_at LIMIT ${SWEPT}
           FOR UPDATE SKIP LOCKED))`,
      )
      const locked = await sql.first<KeptWindow & { now: number }>(
        `INSERT INTO attempts AS a (kind, key, used, ends_at) VALUES ($1, $2, 0, now())
         ON CONFLICT (kind, key) DO UPDATE SET used = a.used
         RETURNING used, ${inMs('ends_at')} AS "endsAt", ${inMs('clock_timestamp()')} AS now`,
        [this.#kind, key],
      )
      // Another transaction may have begun the window after this transaction's now(). Read the clock after the row is
      // locked.
      const now = locked?.now ?? 0
      const { allowed, state, resetAt } = decideInWindow(locked ?? null, limit, now)
      const taken =
        'UPDATE attempts SET used = $3, ends_at = to_timestamp($4::float8 / 1000) WHERE kind = $1 AND key = $2'
      if (allowed) await sql.run(taken, [this.#kind, key, state.used, resetAt])
      return { allowed, msLeft: resetAt - now }
    })
  }

  async release(key: string): Promise<void> {
    const text = 'UPDATE attempts SET used = GREATEST(0, used - 1) WHERE kind = $1 AND key = $2'
    await this.#database.command(text, [this.#kind, key])
  }

  async clear(key: string): Promise<void> {
    await this.#database.command('DELETE FROM attempts WHERE kind = $1 AND key = $2', [this.#kind, key])
  }
}

class PostgresChallenges implements ChallengeStore {
  readonly #database: Postgres

  constructor(database: Postgres) {
    this.#database = database
  }

  async insert(hash: Uint8Array, { accountId, passwordHash, expiresAt }: LoginChallenge, now: number): Promise<void> {
    await this.#database.transaction(async sql => {
      await sql.run(
        `DELETE FROM login_challenges WHERE hash = ANY(ARRAY(
           SELECT hash FROM login_challenges WHERE expires_at <= $1 ORDER BY expires_at LIMIT ${SWEPT}
           FOR UPDATE SKIP LOCKED))`,
        [now],
      )
      const text = 'INSERT INTO login_challenges (hash, account_id, password_hash, expires_at) VALUES ($1, $2, $3, $4)'
      await sql.run(text, [hash, accountId, passwordHash, expiresAt])
    })
  }

  async get(hash: Uint8Array): Promise<LoginChallenge | null> {
    const text = `SELECT account_id AS "accountId", password_hash AS "passwordHash", expires_at AS "expiresAt"
      FROM login_challenges WHERE hash = $1`
    return (await this.#database.reading.first<LoginChallenge>(text, [hash])) ?? null
  }

  async remove(hash: Uint8Array): Promise<boolean> {
    return (await this.#database.command('DELETE FROM login_challenges WHERE hash = $1', [hash])) > 0
  }
}
