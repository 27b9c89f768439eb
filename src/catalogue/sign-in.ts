import type { RateLimit } from '../domain/plan.ts'

/** The decision on one attempt at a secret. */
export interface AttemptDecision {
  allowed: boolean
  /** Milliseconds until the window of the attempt ends. */
  msLeft: number
}

/** Attempts at secrets of one kind. A window begins with its first attempt. Each method is atomic across nodes. */
export interface AttemptStore {
  /** Counts an attempt if the window has fewer than the limit. */
  take(key: string, limit: RateLimit): Promise<AttemptDecision>
  /** Takes one attempt back. */
  release(key: string): Promise<void>
  /** Forgets all attempts of a key. */
  clear(key: string): Promise<void>
}

/** A login whose password was correct and whose second factor is still missing. */
export interface LoginChallenge {
  accountId: string
  /** The password hash at that time. A change of the password invalidates the login. */
  passwordHash: string
  /** Milliseconds since the epoch. */
  expiresAt: number
}

/** Logins between password and second factor. The key is a hash of the token that the second request carries. */
export interface ChallengeStore {
  /** @param now in milliseconds since the epoch; challenges that have expired by then may be removed */
  insert(hash: Uint8Array, challenge: LoginChallenge, now: number): Promise<void>
  get(hash: Uint8Array): Promise<LoginChallenge | null>
  /** Removes a challenge. Returns whether it existed: only one of two concurrent calls gets true. */
  remove(hash: Uint8Array): Promise<boolean>
}

/** A stored key that signs session tokens. */
export interface StoredSigningKey {
  /** The key id that tokens carry. */
  kid: string
  /** 256 bits, base64url. */
  secret: string
  /** Milliseconds since the epoch. */
  createdAt: number
}

/** The store of signing keys, which survives restarts. */
export interface SigningKeyStore {
  /** Returns the keys, newest first. */
  load(): Promise<readonly StoredSigningKey[]>
  /**
   * Replaces the keys if the newest one is still `newest` (null for none); otherwise changes nothing.
   *
   * @returns the stored keys, once they are durable
   */
  replace(newest: string | null, keys: readonly StoredSigningKey[]): Promise<readonly StoredSigningKey[]>
}

/** A node's share of the requests that a window allows. */
export interface RequestShare {
  /** Number of requests that this node may admit; 0 if the window is used up. */
  granted: number
  /** Number of requests not yet granted to any node. */
  left: number
  /** Milliseconds until the window ends. */
  msLeft: number
}

/** Rate limit windows that several nodes share. Together the nodes never admit more requests than the limit. */
export interface RequestWindows {
  /**
   * Grants this node a part of the remaining requests of each window. Starts windows that do not exist or have ended.
   */
  grant(buckets: ReadonlyArray<{ key: string; limit: RateLimit }>): Promise<RequestShare[]>
}

/** The sign-in state that all nodes of one catalogue share. */
export interface SharedSignIn {
  attempts(kind: string): AttemptStore
  challenges: ChallengeStore
  signingKeys: SigningKeyStore
  requests: RequestWindows
}
