import { AccountService } from '../access/accounts/account-service.ts'
import { ScryptHasher } from '../access/accounts/password-hasher.ts'
import { PasswordLinks } from '../access/accounts/password-links.ts'
import { PasswordService } from '../access/accounts/password-service.ts'
import { SignUp } from '../access/accounts/sign-up.ts'
import { AuditLog } from '../access/audit/audit-log.ts'
import { Authenticator } from '../access/credentials/authenticator.ts'
import { CredentialCache } from '../access/credentials/credential-cache.ts'
import { ApiKeyVerifier } from '../access/credentials/credential-verifier.ts'
import { KeyService } from '../access/keys/key-service.ts'
import { MemoryAttempts } from '../access/limits/memory-attempts.ts'
import { RequestLimits } from '../access/limits/request-limits.ts'
import { PlanCatalogue } from '../access/plan-catalogue.ts'
import { ScopePolicy } from '../access/scope-policy.ts'
import { SessionRegistry } from '../access/sessions/session-registry.ts'
import { SESSION_MS, SessionService } from '../access/sessions/session-service.ts'
import { SessionTokens } from '../access/sessions/session-token.ts'
import { SessionVerifier } from '../access/sessions/session-verifier.ts'
import { SigningKeys } from '../access/sessions/signing-keys.ts'
import { IdentityChecks } from '../access/sign-in/identity-checks.ts'
import { LoginChallenges, MemoryChallenges } from '../access/sign-in/login-challenges.ts'
import { LoginService } from '../access/sign-in/login-service.ts'
import { Proofs } from '../access/sign-in/proofs.ts'
import { ProviderLogins } from '../access/sign-in/provider-logins.ts'
import { SecondFactor } from '../access/sign-in/second-factor-check.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { SharedSignIn } from '../catalogue/sign-in.ts'
import type { Sealing } from '../domain/sealing.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

export type AccessModule = ReturnType<typeof makeAccess>

export interface AccessStorage {
  /** Changes whenever another process may have changed credentials. */
  credentialsVersion: () => number
  catalogue: Pick<Catalogue, 'accounts' | 'keys' | 'sessions' | 'secondFactors'>
  sealing: Sealing
  /** Null for a single node. */
  signIn: SharedSignIn | null
}

/** Creates services that need no running engine. */
export function makeAccounts(
  { config, clock }: Pick<Setup, 'config' | 'clock'>,
  { credentialsVersion, catalogue, sealing, signIn }: AccessStorage,
) {
  const { accounts: store, keys, sessions, secondFactors } = catalogue
  const plans = new PlanCatalogue(config.plans)
  const cache =
    signIn === null
      ? new CredentialCache(clock, credentialsVersion)
      : // Other nodes report their changes. Reading the version is cheap, so the cache checks it on each use.
        new CredentialCache(clock, credentialsVersion, 0)
  const scopes = new ScopePolicy()
  const hasher = ScryptHasher.ofCost(config.passwordCost)
  const attempts = (kind: string) => signIn?.attempts(kind) ?? new MemoryAttempts(clock)
  const secondFactor = new SecondFactor({ store: secondFactors, sealing, attempts: attempts('code'), clock })
  return {
    attempts,
    plans,
    cache,
    scopes,
    hasher,
    secondFactor,
    accounts: new AccountService({ store, hasher, plans, cache, clock }),
    keys: new KeyService({ store: keys, accounts: store, plans, scopes, secondFactor, cache, clock }),
    sessionRegistry: new SessionRegistry(sessions, cache, clock),
  }
}

export function makeAccess(setup: Setup, storage: StorageModule) {
  const { clock, logger, config } = setup
  const { accounts: store, identities, keys, sessions: sessionStore } = storage.catalogue
  const made = makeAccounts(setup, storage)
  const { signIn } = storage
  const { attempts, accounts, plans, cache, hasher, secondFactor } = made
  const tokens = new SessionTokens(new SigningKeys(signIn?.signingKeys ?? storage.secrets, clock, SESSION_MS), clock)
  const sessions = new SessionService({ store: sessionStore, tokens, cache, clock })
  const challenges = new LoginChallenges(signIn?.challenges ?? new MemoryChallenges(), clock)
  const verifiers = [new ApiKeyVerifier(keys, clock, logger), new SessionVerifier(tokens, sessionStore, clock)]
  const { providerSignIn, sealing } = storage
  const checks = new IdentityChecks({ signIn: providerSignIn, identities, sealing, cache, clock, logger })
  const providerLogins = new ProviderLogins({
    signIn: providerSignIn,
    identities,
    checks,
    sessions,
    secondFactor,
    challenges,
    attempts: attempts('provider sign-in'),
    cache,
    clock,
    logger,
  })
  const passwords = new PasswordService({ store, accounts, hasher, attempts: attempts('password'), clock })
  const audit = new AuditLog({ store: storage.catalogue.audit, clock, logger, retention: config.audit })
  warnOfOpenImports(setup, plans, storage.importRoots)
  return {
    ...made,
    audit,
    sessions,
    passwords,
    proofs: new Proofs({ keys, sessions: sessionStore, passwords, secondFactor, providerLogins, clock }),
    passwordLinks: new PasswordLinks({ store, hasher, attempts: attempts('password link'), cache, clock }),
    logins: new LoginService({ accounts: store, sessions, secondFactor, challenges, attempts, hasher, clock }),
    providerLogins,
    signUp: new SignUp(accounts, config.signup, clock, attempts('sign-up')),
    authenticator: new Authenticator({ accounts: store, plans, cache, clock, verifiers }),
    limits: new RequestLimits({ clock, shared: signIn?.requests }),
    /** Encrypts the second-factor secrets that an older version stored in plain text. */
    start: () => {
      checks.watch()
      audit.start()
      return secondFactor.sealStored()
    },
    stop: async (): Promise<void> => {
      await checks.stop()
      await audit.stop()
    },
  }
}

/** Warns if accounts that nobody created by hand may read files of the server. */
function warnOfOpenImports({ config, logger }: Setup, plans: PlanCatalogue, importRoots: readonly string[]): void {
  const { signup, oidc } = config
  const mend = 'set "serverImport": false in that plan, or "importRoots": []'
  const warn = (who: string, plan: string): void => {
    if (importRoots.length === 0 || !plans.get(plan).serverImport) return
    logger.warn({ plan, importRoots }, `${who} and read every file in the import roots: ${mend}`)
  }
  if (signup.enabled) warn('anyone can sign up', signup.plan)
  if (oidc !== undefined) warn('every user of the sign-in provider can sign in', oidc.plan ?? 'free')
}
