import type { Page, PageRequest } from './page.ts'

/** The rights of an upload token. Sizes are in bytes. Times are milliseconds since the epoch. */
export interface UploadGrant {
  maxUses: number
  /** Maximum content bytes of one upload; null for the limit of the plan. */
  maxBytes: number | null
  /** The cluster that stores the uploads; null for the account's default cluster. */
  cluster: string | null
  /** When the uploaded records expire; null for never. */
  timelock: number | null
}

/** A stored API key. Times are milliseconds since the epoch. */
export interface KeyRow {
  id: string
  accountId: string
  /** Id of the key that created this key; null if a session, the owner or a command created it. */
  parentId: string | null
  parent: string | null
  /** Unique within the account. */
  name: string
  label: string | null
  /** SHA-256 hash of the secret. */
  hash: Uint8Array
  prefix: string
  scopes: string[]
  ipAllowlist: string[]
  createdAt: number
  expiresAt: number | null
  lastUsedAt: number | null
  /** The rights of an upload token; null for other keys. */
  upload: UploadGrant | null
  /** Number of uploads with an upload token. */
  uses: number
}

/** A key to insert. */
export type NewKeyRow = Omit<KeyRow, 'parent' | 'uses'>

/** The reason why a key was not inserted. */
export type KeyRefusal = 'no_account' | 'no_parent' | 'name_taken' | 'too_many'

/** Maximum number of tabs that the console keeps signed in with one key. */
export const MOST_CONSOLE_KEYS = 16

/**
 * Returns the name of a key that keeps the sign-in of one tab of the console with the key `parentId`.
 * @param random hexadecimal digits. Versions before 0.4.0 used a name without them
 */
export function consoleKeyName(parentId: string, random: string): string {
  return `console-${parentId}-${random}`
}

/** Returns whether a key keeps a sign-in at the console. */
export function isConsoleKey({ name, parentId }: Pick<KeyRow, 'name' | 'parentId'>): boolean {
  return parentId !== null && `${name}-`.startsWith(consoleKeyName(parentId, ''))
}

/** Maximum number of expired keys kept per account, for display. */
export const EXPIRED_KEYS_KEPT = 100

/** The store of API keys. Each method except {@link noteUse} is one transaction, durable when its promise resolves. */
export interface KeyStore {
  /**
   * Inserts a key. Replaces an expired key of the same name, and removes the oldest expired keys beyond
   * {@link EXPIRED_KEYS_KEPT}.
   * Upload tokens, the console keys of each parent, and all other keys are counted separately.
   *
   * @param limits.maxKeys maximum number of live keys of this kind; null for no limit
   * @returns `no_parent` if the parent key does not exist or has expired; `name_taken` if a live key has the name;
   *   `too_many` if the account already has `maxKeys` live keys of this kind
   */
  insert(key: NewKeyRow, limits: { now: number; maxKeys: number | null }): Promise<'inserted' | KeyRefusal>
  /**
   * Inserts a key, or replaces the hash, expiry and rights of the account's key with this name.
   * If any key already has the hash, changes nothing and returns that key.
   */
  adopt(key: NewKeyRow): Promise<KeyRow>
  findByHash(hash: Uint8Array): Promise<KeyRow | null>
  findByName(accountId: string, name: string): Promise<KeyRow | null>
  /**
   * Lists keys, oldest first, including expired keys. With `isUpload`, lists only upload tokens; otherwise only other
   * keys.
   */
  list(accountId: string, request: PageRequest & { isUpload?: boolean }): Promise<Page<KeyRow>>
  /** Returns null if the token does not exist. Each commit counts as one upload. */
  uses(id: string): Promise<number | null>
  /**
   * Returns when the user of a key that keeps a sign-in last proved to be there, by its creation or later. Null if there
   * is no such key.
   */
  provedAt(id: string): Promise<number | null>
  /** Stores the time of a proof. */
  prove(id: string, at: number): Promise<void>
  /** Removes a key and, recursively, all keys created with it. */
  revoke(id: string): Promise<number>
  /** Removes all console keys of a key, and returns their number. */
  revokeConsole(accountId: string, parentId: string): Promise<number>
  /** Stores when a key was last used. Resolves before the write is durable. */
  noteUse(id: string, at: number): Promise<void>
}
