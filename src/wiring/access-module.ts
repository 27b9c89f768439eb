import { AccountService } from '../access/accounts/account-service.ts'
import { ScryptHasher } from '../access/accounts/password-hasher.ts'
import { CredentialCache } from '../access/credentials/credential-cache.ts'
import { KeyService } from '../access/keys/key-service.ts'
import { MemoryAttempts } from '../access/limits/memory-attempts.ts'
import { PlanCatalogue } from '../access/plan-catalogue.ts'
import { ScopePolicy } from '../access/scope-policy.ts'
import { SessionRegistry } from '../access/sessions/session-registry.ts'
import { SecondFactor } from '../access/sign-in/second-factor-check.ts'
import type { CoreCatalogue } from '../catalogue/catalogue.ts'
import type { SharedSignIn } from '../catalogue/sign-in.ts'
import { knownClusters } from '../domain/cluster.ts'
import type { Sealing } from '../domain/sealing.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

export type AccessModule = ReturnType<typeof makeAccess>

export interface AccessStorage {
  /** Changes whenever another process may have changed credentials. */
  credentialsVersion: () => number
  catalogue: Pick<CoreCatalogue, 'accounts' | 'keys' | 'sessions' | 'secondFactors'>
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
  const clusters = (config.clusters ?? knownClusters).map(({ id }) => id)
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
    accounts: new AccountService({ store, hasher, plans, clusters, cache, clock }),
    keys: new KeyService({ store: keys, accounts: store, plans, clusters, scopes, secondFactor, cache, clock }),
    sessionRegistry: new SessionRegistry(sessions, cache, clock),
  }
}

export function makeAccess(setup: Setup, storage: StorageModule) {
  const made = makeAccounts(setup, storage)
  warnOfOpenImports(setup, made.plans, storage.importRoots)
  return {
    ...made,
    /** Encrypts the second-factor secrets that an older version stored in plain text. */
    start: () => made.secondFactor.sealStored(),
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
