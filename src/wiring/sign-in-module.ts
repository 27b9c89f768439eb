import { PasswordLinks } from '../access/accounts/password-links.ts'
import { PasswordService } from '../access/accounts/password-service.ts'
import { SignUp } from '../access/accounts/sign-up.ts'
import { Authenticator } from '../access/credentials/authenticator.ts'
import { ApiKeyVerifier } from '../access/credentials/credential-verifier.ts'
import { RequestLimits } from '../access/limits/request-limits.ts'
import { SESSION_MS, SessionService } from '../access/sessions/session-service.ts'
import { SessionTokens } from '../access/sessions/session-token.ts'
import { SessionVerifier } from '../access/sessions/session-verifier.ts'
import { SigningKeys } from '../access/sessions/signing-keys.ts'
import { IdentityChecks } from '../access/sign-in/identity-checks.ts'
import { LoginChallenges, MemoryChallenges } from '../access/sign-in/login-challenges.ts'
import { LoginService } from '../access/sign-in/login-service.ts'
import { Proofs } from '../access/sign-in/proofs.ts'
import { ProviderLogins } from '../access/sign-in/provider-logins.ts'
import type { BaseModules } from './base-modules.ts'
import type { Setup } from './setup.ts'

export type SignInModule = ReturnType<typeof makeSignIn>

/** Creates the services that decide who sends a request, and how often it may. */
export function makeSignIn(
  { clock, logger, config }: Setup,
  { storage, access }: Pick<BaseModules, 'storage' | 'access'>,
) {
  const { accounts: store, identities, keys, sessions: sessionStore } = storage.catalogue
  const { signIn, providerSignIn, sealing } = storage
  const { attempts, accounts, plans, cache, hasher, secondFactor } = access
  const tokens = new SessionTokens(new SigningKeys(signIn?.signingKeys ?? storage.secrets, clock, SESSION_MS), clock)
  const sessions = new SessionService({ store: sessionStore, tokens, cache, clock })
  const challenges = new LoginChallenges(signIn?.challenges ?? new MemoryChallenges(), clock)
  const verifiers = [new ApiKeyVerifier(keys, clock, logger), new SessionVerifier(tokens, sessionStore, clock)]
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
  return {
    sessions,
    passwords,
    proofs: new Proofs({ keys, sessions: sessionStore, passwords, secondFactor, providerLogins, clock }),
    passwordLinks: new PasswordLinks({ store, hasher, attempts: attempts('password link'), cache, clock }),
    logins: new LoginService({ accounts: store, sessions, secondFactor, challenges, attempts, hasher, clock }),
    providerLogins,
    signUp: new SignUp(accounts, config.signup, clock, attempts('sign-up')),
    authenticator: new Authenticator({ accounts: store, plans, cache, clock, verifiers }),
    limits: new RequestLimits({ clock, shared: signIn?.requests }),
    start: async (): Promise<void> => checks.watch(),
    stop: () => checks.stop(),
  }
}
