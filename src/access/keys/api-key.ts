import type { KeyRow, UploadGrant } from '../../catalogue/key-store.ts'
import { isScope, type Scope } from '../principal.ts'

/** A credential of a program. Times are milliseconds since the epoch. */
export interface ApiKey {
  id: string
  accountId: string
  /** Name of the key that created it; null if a session, the owner or a command did. */
  parent: string | null
  /** Unique within the account. */
  name: string
  /** Free text of the account. */
  label: string | null
  /** First characters of a generated secret; empty for a secret that the operator chose. */
  prefix: string
  scopes: Scope[]
  /** IP addresses and networks allowed to use it; empty for all. */
  ipAllowlist: string[]
  createdAt: number
  /** Accurate to a minute; null before the first use. */
  lastUsedAt: number | null
  /** End of validity; null for never. */
  expiresAt: number | null
  /** Set for an upload token, whose only right is to upload; null for other keys. */
  upload: UploadGrant | null
  /** Uploads made with an upload token; 0 for other keys. */
  uses: number
}

export function toApiKey(row: KeyRow): ApiKey {
  const { hash: _, parentId: __, ...rest } = row
  return { ...rest, scopes: row.scopes.filter(isScope) }
}
