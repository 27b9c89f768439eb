import type { Account } from '../catalogue/account-store.ts'
import type { UploadGrant } from '../catalogue/key-store.ts'
import type { Plan } from '../domain/plan.ts'

export type { Account, UploadGrant }

/** Scopes of the contract (specification, "API key scopes"). A key that has them all may do everything but share. */
export const CONTRACT_SCOPES = ['files:read', 'files:write', 'files:delete', 'cluster:read'] as const
/** Scopes that a credential may have. */
export const SCOPES = [...CONTRACT_SCOPES, 'share:write'] as const
/** Right of a credential, such as `files:read`. */
export type Scope = (typeof SCOPES)[number]

export function isScope(text: unknown): text is Scope {
  return SCOPES.some(scope => scope === text)
}

/** API key or session that authenticated a request. */
export interface Credential {
  kind: 'key' | 'session'
  /** Rate limits count requests by this id. */
  id: string
  /** Null for a session. */
  name: string | null
  scopes: readonly Scope[]
  /** In ms since the epoch. Null if the credential never expires. */
  expiresAt: number | null
  /** Limits of an upload token, which may only upload. Undefined for other credentials. */
  upload?: UploadGrant
  /** For a key that keeps a sign-in at the console: id of the key that signed in. Undefined for other credentials. */
  consoleOf?: string
}

/** Authenticated caller of a request. */
export interface Principal {
  account: Account
  plan: Plan
  credential: Credential
}
