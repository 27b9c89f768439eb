import { HoldfastError } from '../domain/errors.ts'
import { type Principal, SCOPES, type Scope } from './principal.ts'

/** Whether a credential may do it, and if not for want of what. */
export type ScopeDecision = { allowed: true } | { allowed: false; required: Scope }

/** Whether what a credential may do covers what is asked of it. */
export class ScopePolicy {
  /** Names the first scope of `wanted` that is not held. */
  decide(held: readonly Scope[], wanted: readonly Scope[]): ScopeDecision {
    const required = wanted.find(scope => !held.includes(scope))
    return required === undefined ? { allowed: true } : { allowed: false, required }
  }

  /** @throws HoldfastError `SESSION_REQUIRED` for a key: what is about the account itself is for its holder. */
  checkSession({ credential }: Principal): void {
    if (credential.kind === 'session') return
    throw new HoldfastError('SESSION_REQUIRED', 'this needs a session, not an API key: sign in with POST /auth/login')
  }

  /**
   * What is about the whole node is for the owner, with a session or a key that may do everything.
   *
   * @throws HoldfastError `OWNER_REQUIRED` for another account, `missing_scope` for a lesser key.
   */
  checkOwner(principal: Principal): void {
    if (principal.account.role !== 'owner')
      throw new HoldfastError('OWNER_REQUIRED', 'this is for the owner of the node')
    this.check(principal, ...SCOPES)
  }

  /** @throws HoldfastError `missing_scope` for an upload token, which is in the hands of others */
  checkNoUploadToken({ credential }: Principal): void {
    if (credential.upload === undefined) return
    throw new HoldfastError('missing_scope', 'an upload token can upload by POST, and nothing else')
  }

  /** @throws HoldfastError `missing_scope`, with the scope as `required` in its details. */
  check(principal: Principal, ...wanted: readonly Scope[]): void {
    const decision = this.decide(principal.credential.scopes, wanted)
    if (decision.allowed) return
    const { required } = decision
    throw new HoldfastError('missing_scope', `this needs the scope ${required}, which the credential lacks`, {
      details: { required },
    })
  }
}
