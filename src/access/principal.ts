import type { Account } from '../catalogue/account-store.ts'
import type { UploadGrant } from '../catalogue/key-store.ts'
import type { Plan } from '../domain/plan.ts'

export type { Account, UploadGrant }

/** Scopes that a credential may have (specification, "API key scopes"). */
export const SCOPES = ['files:read', 'files:write', 'files:delete', 'cluster:read'] as const
/** Right that a credential may have, such as `files:read`. */
export type Scope = (typeof SCOPES)[number]

export function isScope(text: unknown): text is Scope {
  return SCOPES.some(scope => scope === text)
}

/** API key or session that authenticated a request. */
export interface Credential {
  kind: 'key' | 'session'
  /** Stable id of the key or session. Rate limits count requests by this id. */
  id: string
  /** Name of the key. Null for a session. */
  name: string | null
  scopes: readonly Scope[]
  /** Time in ms since the epoch at which the credential expires. Null if it never expires. */
  expiresAt: number | null
  /** Limits of an upload token, which may only upload. Undefined for other credentials. */
  upload?: UploadGrant
}

/** Authenticated caller of a request. */
export interface Principal {
  account: Account
  plan: Plan
  credential: Credential
}
