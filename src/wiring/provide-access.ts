import { AccountService } from '../access/account-service.ts'
import { Authenticator } from '../access/authenticator.ts'
import { CredentialCache } from '../access/credential-cache.ts'
import { ApiKeyVerifier } from '../access/credential-verifier.ts'
import { KeyService } from '../access/key-service.ts'
import { LoginChallenges } from '../access/login-challenges.ts'
import { LoginService } from '../access/login-service.ts'
import { ScryptHasher } from '../access/password-hasher.ts'
import { PasswordService } from '../access/password-service.ts'
import { PlanCatalogue } from '../access/plan-catalogue.ts'
import { RequestLimits } from '../access/request-limits.ts'
import { ScopePolicy } from '../access/scope-policy.ts'
import { SecondFactor } from '../access/second-factor.ts'
import { SessionRegistry } from '../access/session-registry.ts'
import { SESSION_MS, SessionService } from '../access/session-service.ts'
import { SessionTokens } from '../access/session-token.ts'
import { SessionVerifier } from '../access/session-verifier.ts'
import { SignUp } from '../access/sign-up.ts'
import { type SigningKeyStore, SigningKeys } from '../access/signing-keys.ts'
import { sqliteAccess } from '../catalogue/sqlite/access-catalogue.ts'
import type { EngineConfig } from '../domain/options.ts'
import type { Parts } from './container.ts'
import { T } from './tokens.ts'

/** Accounts, keys, sessions and the policies about them. Needs the clock, the logger, the database and its write queue. */
export function provideAccess(parts: Parts, config: EngineConfig, secrets: SigningKeyStore): void {
  parts.provide(T.access, p => sqliteAccess(p.get(T.database), p.get(T.writes)))
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
        store: p.get(T.access).accounts,
        hasher: p.get(T.hasher),
        plans: p.get(T.plans),
        cache: p.get(T.credentialCache),
        clock: p.get(T.clock),
        onDeleted: () => p.get(T.accountRemoval).wake(),
      }),
  )
  parts.provide(
    T.keys,
    p =>
      new KeyService({
        store: p.get(T.access).keys,
        accounts: p.get(T.access).accounts,
        plans: p.get(T.plans),
        scopes: p.get(T.scopes),
        secondFactor: p.get(T.secondFactor),
        cache: p.get(T.credentialCache),
        clock: p.get(T.clock),
      }),
  )
  parts.provide(
    T.authenticator,
    p =>
      new Authenticator({
        accounts: p.get(T.access).accounts,
        plans: p.get(T.plans),
        cache: p.get(T.credentialCache),
        clock: p.get(T.clock),
        verifiers: [
          new ApiKeyVerifier(p.get(T.access).keys, p.get(T.clock), p.get(T.logger)),
          new SessionVerifier(p.get(T.sessionTokens), p.get(T.access).sessions, p.get(T.clock)),
        ],
      }),
  )
  provideSessions(parts, config, secrets)
}

/** Signing in, and what belongs to it. */
function provideSessions(parts: Parts, config: EngineConfig, secrets: SigningKeyStore): void {
  parts.provide(T.hasher, () => ScryptHasher.ofCost(config.passwordCost))
  parts.provide(T.secondFactor, p => {
    const store = p.get(T.access).secondFactors
    return new SecondFactor({ store, sealing: p.get(T.sealing), clock: p.get(T.clock) })
  })
  parts.provide(T.sessionTokens, p => {
    const clock = p.get(T.clock)
    return new SessionTokens(new SigningKeys(secrets, clock, SESSION_MS), clock)
  })
  parts.provide(
    T.sessions,
    p =>
      new SessionService({
        store: p.get(T.access).sessions,
        tokens: p.get(T.sessionTokens),
        cache: p.get(T.credentialCache),
        clock: p.get(T.clock),
      }),
  )
  parts.provide(
    T.sessionRegistry,
    p => new SessionRegistry(p.get(T.access).sessions, p.get(T.credentialCache), p.get(T.clock)),
  )
  parts.provide(
    T.passwords,
    p =>
      new PasswordService({
        store: p.get(T.access).accounts,
        accounts: p.get(T.accounts),
        hasher: p.get(T.hasher),
        clock: p.get(T.clock),
      }),
  )
  parts.provide(
    T.logins,
    p =>
      new LoginService({
        accounts: p.get(T.access).accounts,
        sessions: p.get(T.sessions),
        secondFactor: p.get(T.secondFactor),
        challenges: new LoginChallenges(p.get(T.clock)),
        hasher: p.get(T.hasher),
        clock: p.get(T.clock),
      }),
  )
  parts.provide(T.signUp, p => new SignUp(p.get(T.accounts), config.signup ?? {}, p.get(T.clock)))
}
