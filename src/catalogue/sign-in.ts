import type { RateLimit } from '../domain/plan.ts'

/** The decision on one attempt to enter a secret. */
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
  /** Deletes the count of attempts of a key. */
  clear(key: string): Promise<void>
}

/** A login with a correct password, which still needs the second factor. */
export interface LoginChallenge {
  accountId: string
  /** The password hash at the time of the login. A change of the password invalidates the login. */
  passwordHash: string
  /** When the login expires, in milliseconds since the epoch. */
  expiresAt: number
}

/** The logins that wait for a second factor. Each is stored under the hash of a token that the client sends again. */
export interface ChallengeStore {
  /** Stores a login. @param now milliseconds since the epoch. The store may remove logins that have expired by then. */
  insert(hash: Uint8Array, challenge: LoginChallenge, now: number): Promise<void>
  get(hash: Uint8Array): Promise<LoginChallenge | null>
  /** Removes a login. Returns whether the login existed. Only one of two concurrent calls returns true. */
  remove(hash: Uint8Array): Promise<boolean>
}

/** A stored key that signs session tokens. */
export interface StoredSigningKey {
  /** The key id, which tokens contain. */
  kid: string
  /** The key: 256 bits as base64url. */
  secret: string
  /** When the key was created, in milliseconds since the epoch. */
  createdAt: number
}

/** The store of signing keys. The keys survive restarts. */
export interface SigningKeyStore {
  /** Returns the keys, newest first. */
  load(): Promise<readonly StoredSigningKey[]>
  /**
   * Replaces the keys if the newest stored key is still `newest`. `newest` is null if no key is stored. Otherwise
   * changes nothing.
   *
   * @returns the stored keys, once they are durable
   */
  replace(newest: string | null, keys: readonly StoredSigningKey[]): Promise<readonly StoredSigningKey[]>
}

/** The part of a window's requests that a node may admit. */
export interface RequestShare {
  /** Number of requests that this node may admit; 0 if the window is used up. */
  granted: number
  /** Number of requests not yet granted to any node. */
  left: number
  /** Milliseconds until the window ends. */
  msLeft: number
}

/** Rate limit windows that several nodes share. Together, the nodes never admit more requests than the limit. */
export interface RequestWindows {
  /**
   * Grants this node a part of the remaining requests of each window. Begins a new window if a window does not exist or
   * has ended.
   */
  grant(buckets: ReadonlyArray<{ key: string; limit: RateLimit }>): Promise<RequestShare[]>
}

/** The state of sign-ins, which all nodes of a catalogue share. */
export interface SharedSignIn {
  attempts(kind: string): AttemptStore
  challenges: ChallengeStore
  signingKeys: SigningKeyStore
  requests: RequestWindows
}
