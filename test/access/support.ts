import { scryptSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AccountService } from '../../src/access/accounts/account-service.ts'
import { type DeriveKey, ScryptHasher } from '../../src/access/accounts/password-hasher.ts'
import { PasswordService } from '../../src/access/accounts/password-service.ts'
import { Authenticator } from '../../src/access/credentials/authenticator.ts'
import { CredentialCache } from '../../src/access/credentials/credential-cache.ts'
import { ApiKeyVerifier } from '../../src/access/credentials/credential-verifier.ts'
import { KeyService } from '../../src/access/keys/key-service.ts'
import { MemoryAttempts } from '../../src/access/limits/memory-attempts.ts'
import { PlanCatalogue } from '../../src/access/plan-catalogue.ts'
import type { Principal } from '../../src/access/principal.ts'
import { ScopePolicy } from '../../src/access/scope-policy.ts'
import { SESSION_MS, SessionService } from '../../src/access/sessions/session-service.ts'
import { SessionTokens } from '../../src/access/sessions/session-token.ts'
import { SessionVerifier } from '../../src/access/sessions/session-verifier.ts'
import { SigningKeys } from '../../src/access/sessions/signing-keys.ts'
import { LoginChallenges, MemoryChallenges } from '../../src/access/sign-in/login-challenges.ts'
import { LoginService } from '../../src/access/sign-in/login-service.ts'
import { SecondFactor } from '../../src/access/sign-in/second-factor-check.ts'
import type { SigningKeyStore, StoredSigningKey } from '../../src/catalogue/sign-in.ts'
import { sqliteAccess } from '../../src/catalogue/sqlite/sqlite-access.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { knownClusters } from '../../src/domain/cluster.ts'
import { silentLogger } from '../../src/domain/logger.ts'
import { sealingWith } from '../../src/domain/sealing.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { newDatabase } from '../support/new-database.ts'

/** A clock that moves only by `advance`. */
export class StandingClock implements Clock {
  #now = Date.parse('2030-01-01T00:00:00.000Z')

  now(): number {
    return this.#now
  }

  after(): () => void {
    return () => undefined
  }

  advance(ms: number): void {
    this.#now += ms
  }
}

/** scrypt that counts its calls. */
export class CountedScrypt {
  calls = 0

  readonly derive: DeriveKey = async (password, salt, length, options) => {
    this.calls++
    return scryptSync(password, salt, length, options)
  }
}

/** Signing keys in memory. */
export class KeptKeys implements SigningKeyStore {
  signingKeys: readonly StoredSigningKey[] = []

  async load(): Promise<readonly StoredSigningKey[]> {
    return this.signingKeys
  }

  async replace(newest: string | null, keys: readonly StoredSigningKey[]): Promise<readonly StoredSigningKey[]> {
    if ((this.signingKeys[0]?.kid ?? null) === newest) this.signingKeys = keys
    return this.signingKeys
  }
}

/** Cheap parameters for tests. */
const QUICK = { cost: 16, blockSize: 8, parallelization: 1 }

/** Opens the services of access on a temporary database. The caller closes it. */
export function openAccess(clock = new StandingClock()) {
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-access-'))
  const db = newDatabase(dataDir)
  const writes = new WriteQueue(db)
  const store = sqliteAccess(db, writes)
  const plans = new PlanCatalogue()
  const clusters = knownClusters.map(({ id }) => id)
  const cache = new CredentialCache(clock, () => db.dataVersion())
  const scopes = new ScopePolicy()
  const scrypt = new CountedScrypt()
  const hasher = new ScryptHasher(QUICK, scrypt.derive)
  const keptKeys = new KeptKeys()
  const tokens = new SessionTokens(new SigningKeys(keptKeys, clock, SESSION_MS), clock)
  const verifiers = [
    new ApiKeyVerifier(store.keys, clock, silentLogger),
    new SessionVerifier(tokens, store.sessions, clock),
  ]
  const authenticator = new Authenticator({ accounts: store.accounts, plans, cache, clock, verifiers })
  const accounts = new AccountService({ store: store.accounts, hasher, plans, clusters, cache, clock })
  const attempts = () => new MemoryAttempts(clock)
  const sealing = sealingWith(new Uint8Array(32))
  const secondFactor = new SecondFactor({ store: store.secondFactors, sealing, attempts: attempts(), clock })
  const sessions = new SessionService({ store: store.sessions, tokens, cache, clock })
  const challenges = new LoginChallenges(new MemoryChallenges(), clock)
  return {
    dataDir,
    clock,
    writes,
    plans,
    accounts,
    store,
    scrypt,
    keptKeys,
    secondFactor,
    sessions,
    keys: new KeyService({
      store: store.keys,
      accounts: store.accounts,
      plans,
      clusters,
      scopes,
      secondFactor,
      cache,
      clock,
    }),
    logins: new LoginService({ accounts: store.accounts, sessions, secondFactor, challenges, attempts, hasher, clock }),
    passwords: new PasswordService({ store: store.accounts, accounts, hasher, attempts: attempts(), clock }),
    authenticator,
    authenticate: (headers: Record<string, string>, remoteAddress?: string): Promise<Principal> =>
      authenticator.authenticate({ header: name => headers[name], remoteAddress }),
    /** Inserts keys beyond the limit of the plan, as an earlier version could. */
    fillKeys(accountId: string, count: number): void {
      db.prepare<[number, string, string, string]>(`
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO api_keys (id, account_id, name, hash, prefix, scopes, created_at)
        SELECT ? || i, ?, 'filled ' || i, CAST(? || i AS BLOB), '', '[]', i / 10 FROM n`).run(
        count,
        accountId,
        accountId,
        accountId,
      )
    },
    close(): void {
      db.close()
      rmSync(dataDir, { recursive: true })
    },
  }
}

export type Access = ReturnType<typeof openAccess>

/** Returns the code, message and details of the error that `work` throws. */
export async function failure(work: () => unknown): Promise<{ code: string; message: string; details: object }> {
  try {
    await work()
  } catch (error) {
    const { code, message, details } = error as { code: string; message: string; details: object }
    return { code, message, details }
  }
  throw new Error('nothing was thrown')
}
