import type { KeyRow, UploadGrant } from '../../catalogue/key-store.ts'
import { isScope, type Scope } from '../principal.ts'

/** A credential for programs. Times are milliseconds since the epoch. */
export interface ApiKey {
  id: string
  accountId: string
  /** The name of the key that minted it; null if a session, the owner or a command did. */
  parent: string | null
  /** Unique within the account. */
  name: string
  /** A note of the holder's own. */
  label: string | null
  /** The first characters of the secret, to recognise it by; empty for a secret that was chosen by hand. */
  prefix: string
  scopes: Scope[]
  /** Addresses and networks that it may be used from; empty for anywhere. */
  ipAllowlist: string[]
  createdAt: number
  /** Kept to the minute. */
  lastUsedAt: number | null
  /** The key stops working at this instant; null for never. */
  expiresAt: number | null
  /** Of an upload token, which can upload and nothing else; null for every other key. */
  upload: UploadGrant | null
  /** Uploads that were made with it, of an upload token. */
  uses: number
}

export function toApiKey(row: KeyRow): ApiKey {
  const { hash: _, parentId: __, ...rest } = row
  return { ...rest, scopes: row.scopes.filter(isScope) }
}

export function isLive(key: { expiresAt: number | null }, now: number): boolean {
  return key.expiresAt === null || now < key.expiresAt
}
