import type { Page, PageRequest } from './page.ts'

/** The rights that an upload token carries. Sizes are in bytes, times in milliseconds since the epoch. */
export interface UploadGrant {
  /** Maximum number of uploads. */
  maxUses: number
  /** Maximum content bytes of one upload; null for the plan's limit. */
  maxBytes: number | null
  /** The cluster of the uploads; null for the account's default cluster. */
  cluster: string | null
  /** When the uploads expire, in milliseconds since the epoch; null for never. */
  timelock: number | null
}

/** A stored API key. Times are milliseconds since the epoch. */
export interface KeyRow {
  id: string
  accountId: string
  /** The key that created this one; null if a session, the owner or a command did. */
  parentId: string | null
  /** The name of the key that created this one. */
  parent: string | null
  /** Unique within the account. */
  name: string
  label: string | null
  /** SHA-256 of the secret, unique. */
  hash: Uint8Array
  prefix: string
  scopes: string[]
  ipAllowlist: string[]
  createdAt: number
  expiresAt: number | null
  lastUsedAt: number | null
  /** The rights of an upload token; null for other keys. */
  upload: UploadGrant | null
  /** Number of uploads made with an upload token. */
  uses: number
}

/** A key to insert. The database adds the parent's name and the count of uses. */
export type NewKeyRow = Omit<KeyRow, 'parent' | 'uses'>

/** Why a key was not inserted. */
export type KeyRefusal = 'no_account' | 'no_parent' | 'name_taken' | 'too_many'

/** Number of expired keys kept per account, for display. Beyond that, the key that expired first is removed. */
export const EXPIRED_KEYS_KEPT = 100

/** The store of API keys. Each method is one transaction, durable when its promise resolves, except {@link noteUse}. */
export interface KeyStore {
  /**
   * Inserts a key. Replaces an expired key of the same name, and removes surplus expired keys beyond
   * {@link EXPIRED_KEYS_KEPT}. Upload tokens and other keys are counted separately.
   *
   * @param limits.maxKeys maximum number of live keys of the account; null for no limit
   * @returns `no_parent`: the key that creates it does not exist or has expired; `name_taken`: a live key has the name;
   * `too_many`: the account has `maxKeys` live keys
   */
  insert(key: NewKeyRow, limits: { now: number; maxKeys: number | null }): Promise<'inserted' | KeyRefusal>
  /**
   * Inserts a key, or replaces hash, expiry and rights of the account's key with the same name. That key keeps its id
   * and the keys it created. If any key already has the hash, returns that key and changes nothing.
   */
  adopt(key: NewKeyRow): Promise<KeyRow>
  findByHash(hash: Uint8Array): Promise<KeyRow | null>
  /** Returns the key with exactly this name. */
  findByName(accountId: string, name: string): Promise<KeyRow | null>
  /** Lists the upload tokens or the other keys of an account, oldest first, including expired ones. */
  list(accountId: string, request: PageRequest & { isUpload?: boolean }): Promise<Page<KeyRow>>
  /** Returns how many uploads were made with an upload token; null if it is gone. Committing records counts them. */
  uses(id: string): Promise<number | null>
  /** Removes a key and all keys created with it, recursively. Returns how many. */
  revoke(id: string): Promise<number>
  /** Stores when a key was last used. Resolves before the write is durable. */
  noteUse(id: string, at: number): Promise<void>
}
