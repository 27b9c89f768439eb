import type { SigningKeyStore, StoredSigningKey } from '../../../src/catalogue/sign-in.ts'
import type { Sealing } from '../../../src/domain/sealing.ts'
import type { Postgres } from '../database/postgres.ts'
import type { Sql } from '../database/sql.ts'

/** Stores the sealed keys that sign session tokens on all nodes. */
export class PostgresSigningKeys implements SigningKeyStore {
  readonly #database: Postgres
  readonly #sealing: Sealing

  constructor(database: Postgres, sealing: Sealing) {
    this.#database = database
    this.#sealing = sealing
  }

  load(): Promise<readonly StoredSigningKey[]> {
    return this.#read(this.#database.reading)
  }

  replace(newest: string | null, keys: readonly StoredSigningKey[]): Promise<readonly StoredSigningKey[]> {
    return this.#database.transaction(async sql => {
      await sql.run('LOCK TABLE signing_keys IN EXCLUSIVE MODE')
      const stored = await this.#read(sql)
      if ((stored[0]?.kid ?? null) !== newest) return stored
      const known = new Set(stored.map(({ kid }) => kid))
      await sql.run('DELETE FROM signing_keys WHERE kid <> ALL($1)', [keys.map(({ kid }) => kid)])
      for (const { kid, secret, createdAt } of keys.filter(key => !known.has(key.kid))) {
        const sealed = this.#sealing.seal(Buffer.from(secret, 'base64url'), contextOf(kid))
        await sql.run('INSERT INTO signing_keys (kid, secret, created_at) VALUES ($1, $2, $3)', [
          kid,
          sealed,
          createdAt,
        ])
      }
      return this.#read(sql)
    })
  }

  async #read(sql: Sql): Promise<StoredSigningKey[]> {
    const rows = await sql.all<{ kid: string; sealed: Uint8Array; createdAt: number }>(
      'SELECT kid, secret AS sealed, created_at AS "createdAt" FROM signing_keys ORDER BY created_at DESC, kid',
    )
    return rows.map(({ kid, sealed, createdAt }) => {
      const secret = Buffer.from(this.#sealing.open(sealed, contextOf(kid))).toString('base64url')
      return { kid, secret, createdAt }
    })
  }
}

function contextOf(kid: string): string {
  return `signing-key ${kid}`
}
