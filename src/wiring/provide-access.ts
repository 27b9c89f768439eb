import { AccountService } from '../access/account-service.ts'
import { Authenticator } from '../access/authenticator.ts'
import { CredentialCache } from '../access/credential-cache.ts'
import { ApiKeyVerifier } from '../access/credential-verifier.ts'
import { KeyService } from '../access/key-service.ts'
import { PlanCatalogue } from '../access/plan-catalogue.ts'
import { RequestLimits } from '../access/request-limits.ts'
import { ScopePolicy } from '../access/scope-policy.ts'
import type { EngineConfig } from '../domain/options.ts'
import { AccountTable } from '../storage/account-table.ts'
import { KeyTable } from '../storage/key-table.ts'
import type { Parts } from './container.ts'
import { T } from './tokens.ts'

/** Accounts, keys and the policies about them. Needs the clock, the logger, the database and its write queue. */
export function provideAccess(parts: Parts, config: EngineConfig): void {
  parts.provide(T.accountTable, p => new AccountTable(p.get(T.database)))
  parts.provide(T.keyTable, p => new KeyTable(p.get(T.database)))
  parts.provide(T.plans, () => new PlanCatalogue(config.plans))
  parts.provide(T.scopes, () => new ScopePolicy())
  parts.provide(T.limits, p => new RequestLimits({ clock: p.get(T.clock) }))
  parts.provide(T.credentialCache, p => {
    const database = p.get(T.database)
    return new CredentialCache(p.get(T.clock), () => database.dataVersion())
  })
  parts.provide(
    T.accounts,
    p =>
      new AccountService({
        table: p.get(T.accountTable),
        writes: p.get(T.writes),
        plans: p.get(T.plans),
        cache: p.get(T.credentialCache),
        clock: p.get(T.clock),
      }),
  )
  parts.provide(
    T.keys,
    p =>
      new KeyService({
        table: p.get(T.keyTable),
        accounts: p.get(T.accountTable),
        writes: p.get(T.writes),
        scopes: p.get(T.scopes),
        cache: p.get(T.credentialCache),
        clock: p.get(T.clock),
      }),
  )
  parts.provide(
    T.authenticator,
    p =>
      new Authenticator({
        accounts: p.get(T.accountTable),
        plans: p.get(T.plans),
        cache: p.get(T.credentialCache),
        clock: p.get(T.clock),
        verifiers: [new ApiKeyVerifier(p.get(T.keyTable), p.get(T.writes), p.get(T.clock), p.get(T.logger))],
      }),
  )
}
