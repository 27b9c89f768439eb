import type { Page, PageRequest } from './page.ts'

/** What an upload token fixes. Sizes are bytes, times milliseconds since the epoch. */
export interface UploadGrant {
  /** How many uploads it is for. */
  maxUses: number
  /** Content bytes of one upload; null for what the plan allows. */
  maxBytes: number | null
  /** Where they go; null for the default cluster of the account. */
  cluster: string | null
  /** When they expire, in milliseconds since the epoch; null for never. */
  timelock: number | null
}

/** An API key as it is stored. Times are milliseconds since the epoch. */
export interface KeyRow {
  id: string
  accountId: string
  /** The key that minted it; null if a session, the owner or a command did. */
  parentId: string | null
  /** The name of that key. */
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
  /** Of an upload token; null for every other key. */
  upload: UploadGrant | null
  /** How many uploads were made with it, of an upload token. */
  uses: number
}

/** What is written; the parent's name follows from its id. */
export type NewKeyRow = Omit<KeyRow, 'parent' | 'uses'>

/** Why a key was not inserted. */
export type KeyRefusal = 'no_account' | 'no_parent' | 'name_taken' | 'too_many'

/** How many expired keys of an account are kept, to be seen; those that expired first go first. */
export const EXPIRED_KEYS_KEPT = 100

/** Where API keys are kept. Each method is one transaction, durable when its promise resolves, {@link noteUse} apart. */
export interface KeyStore {
  /**
   * Takes the place of an expired key of the same name. `no_account`: there is no such account; `no_parent`: the key
   * that mints it is not, or no longer, good; `name_taken`: by a live key; `too_many`: the account has `maxKeys` live
   * ones (null for any number). Beyond {@link EXPIRED_KEYS_KEPT} expired keys are removed on the way. Upload tokens and
   * other keys are counted, and removed, each for themselves.
   */
  insert(key: NewKeyRow, limits: { now: number; maxKeys: number | null }): Promise<'inserted' | KeyRefusal>
  /**
   * Inserts a key, or gives the account's key of that name this hash, expiry and rights; its id and what it minted
   * stay. If any key has the hash already, nothing is changed and that one is returned.
   */
  adopt(key: NewKeyRow): Promise<KeyRow>
  findByHash(hash: Uint8Array): Promise<KeyRow | null>
  /** Names are exact. */
  findByName(accountId: string, name: string): Promise<KeyRow | null>
  /** Those of an account, oldest first, expired ones included: its upload tokens, or all others. */
  list(accountId: string, request: PageRequest & { isUpload?: boolean }): Promise<Page<KeyRow>>
  /** How many uploads were made with an upload token; null if it is gone. The commits of records count them. */
  uses(id: string): Promise<number | null>
  /** Removes a key, what it minted, what that minted, and so on. Returns how many. */
  revoke(id: string): Promise<number>
  /** Resolves before it is durable. */
  noteUse(id: string, at: number): Promise<void>
}
