import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AccountService } from '../src/access/account-service.ts'
import { Authenticator } from '../src/access/authenticator.ts'
import { CredentialCache } from '../src/access/credential-cache.ts'
import { ApiKeyVerifier } from '../src/access/credential-verifier.ts'
import { KeyService } from '../src/access/key-service.ts'
import { PlanCatalogue } from '../src/access/plan-catalogue.ts'
import type { Principal } from '../src/access/principal.ts'
import { ScopePolicy } from '../src/access/scope-policy.ts'
import type { Clock } from '../src/domain/clock.ts'
import { silentLogger } from '../src/domain/logger.ts'
import { AccountTable } from '../src/storage/account-table.ts'
import { Database } from '../src/storage/database.ts'
import { KeyTable } from '../src/storage/key-table.ts'
import { WriteQueue } from '../src/storage/write-queue.ts'

/** A clock that stands until it is moved. */
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

/** Everything of access over a database in a directory of its own. The caller closes it. */
export function openAccess(clock = new StandingClock()) {
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-access-'))
  const db = new Database(join(dataDir, 'holdfast.db'))
  const writes = new WriteQueue(db)
  const accountTable = new AccountTable(db)
  const keyTable = new KeyTable(db)
  const plans = new PlanCatalogue()
  const cache = new CredentialCache(clock, () => db.dataVersion())
  const scopes = new ScopePolicy()
  const verifiers = [new ApiKeyVerifier(keyTable, writes, clock, silentLogger)]
  const authenticator = new Authenticator({ accounts: accountTable, plans, cache, clock, verifiers })
  return {
    dataDir,
    clock,
    writes,
    plans,
    accounts: new AccountService({ table: accountTable, writes, plans, cache, clock }),
    keys: new KeyService({ table: keyTable, accounts: accountTable, writes, scopes, cache, clock }),
    authenticator,
    authenticate: (headers: Record<string, string>, remoteAddress?: string): Principal =>
      authenticator.authenticate({ header: name => headers[name], remoteAddress }),
    close(): void {
      db.close()
      rmSync(dataDir, { recursive: true })
    },
  }
}

export type Access = ReturnType<typeof openAccess>

/** What a synchronous or asynchronous piece of work throws, as its code and details. */
export async function failure(work: () => unknown): Promise<{ code: string; message: string; details: object }> {
  try {
    await work()
  } catch (error) {
    const { code, message, details } = error as { code: string; message: string; details: object }
    return { code, message, details }
  }
  throw new Error('nothing was thrown')
}
