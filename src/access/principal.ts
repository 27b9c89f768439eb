import type { Account } from '../catalogue/account-store.ts'
import type { UploadGrant } from '../catalogue/key-store.ts'
import type { Plan } from '../domain/plan.ts'

export type { Account, UploadGrant }

/** Scopes of credentials (specification, "API key scopes"). */
export const SCOPES = ['files:read', 'files:write', 'files:delete', 'cluster:read'] as const
/** One of {@link SCOPES}. */
export type Scope = (typeof SCOPES)[number]

export function isScope(text: unknown): text is Scope {
  return SCOPES.some(scope => scope === text)
}

/** The key or session that authenticated a request. */
export interface Credential {
  kind: 'key' | 'session'
  /** Stable id of the key or session; also its rate-limit bucket. */
  id: string
  /** The key's name; null for a session. */
  name: string | null
  scopes: readonly Scope[]
  /** Milliseconds since the epoch, null for never. */
  expiresAt: number | null
  /** Set for an upload token, whose only right is to upload. */
  upload?: UploadGrant
}

/** The authenticated caller of a request. */
export interface Principal {
  account: Account
  plan: Plan
  credential: Credential
}
