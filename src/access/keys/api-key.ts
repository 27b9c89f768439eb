import type { KeyRow, UploadGrant } from '../../catalogue/key-store.ts'
import { isScope, type Scope } from '../principal.ts'

/** Credential of a program. Times are milliseconds since the epoch. */
export interface ApiKey {
  id: string
  accountId: string
  /** Name of the key that created this key. Null if a session, the owner or a command created it. */
  parent: string | null
  /** Unique within the account. */
  name: string
  label: string | null
  /** First characters of a generated secret. Empty if the operator chose the secret. */
  prefix: string
  scopes: Scope[]
  /** IP addresses and networks that may use the key. Empty if all addresses may use it. */
  ipAllowlist: string[]
  createdAt: number
  /** Accurate to a minute. Null before the first use. */
  lastUsedAt: number | null
  /** Null if the key never expires. */
  expiresAt: number | null
  /** Limits of an upload token, which may only upload. Null for other keys. */
  upload: UploadGrant | null
  /** Number of uploads made with an upload token. 0 for other keys. */
  uses: number
}

export function toApiKey(row: KeyRow): ApiKey {
  const { hash: _, parentId: __, ...rest } = row
  return { ...rest, scopes: row.scopes.filter(isScope) }
}
