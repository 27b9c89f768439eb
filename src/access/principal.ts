import type { Plan } from '../domain/plan.ts'

/** What a credential may allow (specification, "API key scopes"). */
export const SCOPES = ['files:read', 'files:write', 'files:delete', 'cluster:read'] as const
/** One of {@link SCOPES}. */
export type Scope = (typeof SCOPES)[number]

export function isScope(text: unknown): text is Scope {
  return SCOPES.some(scope => scope === text)
}

/** Somebody whose content is kept. */
export interface Account {
  id: string
  email: string
  /** Display name; null if none was given. */
  name: string | null
  plan: string
  /** The owner runs the node. */
  role: 'owner' | 'user'
  /** The cluster of requests that name none; null for the engine's default. */
  defaultCluster: string | null
  disabled: boolean
  /** Milliseconds since the epoch. */
  createdAt: number
}

/** What somebody has identified themselves with. */
export interface Credential {
  kind: 'key' | 'session'
  /** Stable id of the key or session; also its rate-limit bucket. */
  id: string
  /** The key's name; null for a session. */
  name: string | null
  scopes: readonly Scope[]
  /** Milliseconds since the epoch, null for never. */
  expiresAt: number | null
}

/** Who is asking: the outcome of authentication. */
export interface Principal {
  account: Account
  plan: Plan
  credential: Credential
}
