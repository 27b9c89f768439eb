import { HoldfastError } from '../domain/errors.ts'
import type { Adoption } from '../domain/visibility.ts'
import { CONTRACT_SCOPES, type Principal, type Scope } from './principal.ts'

/** `required` is the first missing scope. */
export type ScopeDecision = { allowed: true } | { allowed: false; required: Scope }

/** Checks the scopes and the kind of a credential. */
export class ScopePolicy {
  decide(held: readonly Scope[], wanted: readonly Scope[]): ScopeDecision {
    const required = wanted.find(scope => !held.includes(scope))
    return required === undefined ? { allowed: true } : { allowed: false, required }
  }

  /** Refuses API keys, because only a session may manage the account. @throws HoldfastError `SESSION_REQUIRED` */
  checkSession({ credential }: Principal): void {
    if (credential.kind === 'session') return
    throw new HoldfastError(
      'SESSION_REQUIRED',
      'an API key cannot do this: sign in with POST /auth/login and send the session token',
    )
  }

  /**
   * Allows owners, with a session or with an API key that has all scopes of the contract.
   * @throws HoldfastError `OWNER_REQUIRED` for another account, `missing_scope` for a key that lacks a scope
   */
  checkOwner(principal: Principal): void {
    if (principal.account.role !== 'owner')
      throw new HoldfastError('OWNER_REQUIRED', 'only the owner of the node can do this')
    this.check(principal, ...CONTRACT_SCOPES)
  }

  /** Returns what a credential may make of stored content. Only a credential that may read private content may use it. */
  adoption({ credential }: Principal): Adoption {
    const { scopes, upload } = credential
    if (upload !== undefined || !scopes.includes('files:read')) return 'public'
    return scopes.includes('share:write') ? 'share' : 'own'
  }

  /** Refuses upload tokens, because account holders give them to strangers. @throws HoldfastError `missing_scope` */
  checkNoUploadToken({ credential }: Principal): void {
    if (credential.upload === undefined) return
    throw new HoldfastError('missing_scope', 'an upload token can only upload by POST')
  }

  /**
   * Refuses upload tokens, and keys that keep a sign-in at the console, where nothing asks for a proof. A stolen one
   * thus never outlives itself. @throws HoldfastError `missing_scope`
   */
  checkMayMint(principal: Principal): void {
    this.checkNoUploadToken(principal)
    if (principal.credential.consoleOf === undefined) return
    throw new HoldfastError('missing_scope', 'this key only keeps a sign-in: sign in again to create keys')
  }

  /** Throws a HoldfastError `missing_scope`, with the missing scope as `required` in its details. */
  check(principal: Principal, ...wanted: readonly Scope[]): void {
    const decision = this.decide(principal.credential.scopes, wanted)
    if (decision.allowed) return
    const { required } = decision
    throw new HoldfastError('missing_scope', `the credential lacks the scope ${required}`, {
      details: { required },
    })
  }
}
