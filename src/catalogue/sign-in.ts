import type { RateLimit } from '../domain/plan.ts'

export interface AttemptDecision {
  allowed: boolean
  /** Milliseconds until the window that counts this attempt ends. */
  msLeft: number
}

/**
 * Counts attempts to enter secrets of one kind. A window begins with its first attempt. Each method is atomic across
 * all nodes.
 */
export interface AttemptStore {
  /** Counts an attempt if the window has fewer attempts than the limit. */
  take(key: string, limit: RateLimit): Promise<AttemptDecision>
  /** Subtracts one attempt from the window. */
  release(key: string): Promise<void>
  clear(key: string): Promise<void>
}

/** A login with a correct password, which still needs the second factor. */
export interface LoginChallenge {
  accountId: string
  /** A change of the password invalidates the login. */
  passwordHash: string
  /** In milliseconds since the epoch. */
  expiresAt: number
}

/** The logins that wait for a second factor, each under the hash of a token that the client sends again. */
export interface ChallengeStore {
  /** Stores a login, and may remove logins that have expired by `now`. */
  insert(hash: Uint8Array, challenge: LoginChallenge, now: number): Promise<void>
  get(hash: Uint8Array): Promise<LoginChallenge | null>
  /** Removes a login. Only one of two concurrent calls returns true. */
  remove(hash: Uint8Array): Promise<boolean>
}

export interface StoredSigningKey {
  /** The key id, which tokens contain. */
  kid: string
  /** 256 bits as base64url. */
  secret: string
  /** In milliseconds since the epoch. */
  createdAt: number
}

export interface SigningKeyStore {
  /** Returns the keys, newest first. */
  load(): Promise<readonly StoredSigningKey[]>
  /**
   * Replaces the keys if the newest stored key is still `newest`. `newest` is null if no key is stored.
   *
   * @returns the stored keys, once they are durable
   */
  replace(newest: string | null, keys: readonly StoredSigningKey[]): Promise<readonly StoredSigningKey[]>
}

export interface RequestShare {
  /** 0 if the window is used up. */
  granted: number
  /** Number of requests not yet granted to any node. */
  left: number
  msLeft: number
}

/** Rate limit windows of several nodes, which together never admit more requests than the limit. */
export interface RequestWindows {
  /**
   * Grants this node a part of the remaining requests of each window. Begins a window that does not exist or has ended.
   */
  grant(buckets: ReadonlyArray<{ key: string; limit: RateLimit }>): Promise<RequestShare[]>
}

export interface SharedSignIn {
  attempts(kind: string): AttemptStore
  challenges: ChallengeStore
  signingKeys: SigningKeyStore
  requests: RequestWindows
}
