import type { RateLimit } from '../domain/plan.ts'

/** Whether one more attempt may be made. */
export interface AttemptDecision {
  allowed: boolean
  /** Milliseconds until the window ends in which it counts, or would have. */
  msLeft: number
}

/** Attempts at secrets of one kind, counted in windows that begin with their first. Each method is one step for all. */
export interface AttemptStore {
  /** Counts one if there have been fewer than the limit says. */
  take(key: string, limit: RateLimit): Promise<AttemptDecision>
  /** Takes one back. */
  release(key: string): Promise<void>
  /** Forgets all of a key. */
  clear(key: string): Promise<void>
}

/** A login whose password was right and whose code is still to come. */
export interface LoginChallenge {
  accountId: string
  /** The stored password by then: a login does not outlive its change. */
  passwordHash: string
  /** Milliseconds since the epoch. */
  expiresAt: number
}

/** Logins between password and code, by a hash of the token that the code is to come with. */
export interface ChallengeStore {
  /** @param now in milliseconds since the epoch: what has expired by then may be forgotten */
  insert(hash: Uint8Array, challenge: LoginChallenge, now: number): Promise<void>
  get(hash: Uint8Array): Promise<LoginChallenge | null>
  /** Returns whether it was there, so that of two at once only one goes on. */
  remove(hash: Uint8Array): Promise<boolean>
}

/** A key that session tokens are signed with, as it is kept. */
export interface StoredSigningKey {
  /** Names it in tokens. */
  kid: string
  /** 256 bits, base64url. */
  secret: string
  /** Milliseconds since the epoch. */
  createdAt: number
}

/** Where signing keys are kept from one start to the next. */
export interface SigningKeyStore {
  /** Newest first. */
  load(): Promise<readonly StoredSigningKey[]>
  /**
   * Puts `keys` in the place of those whose newest is `newest`, null for none; where that is another by now, nothing
   * changes. Resolves, once it is durable, with what is there then.
   */
  replace(newest: string | null, keys: readonly StoredSigningKey[]): Promise<readonly StoredSigningKey[]>
}

/** What one node may let through of the requests of a window. */
export interface RequestShare {
  /** 0 if no more pass until the window ends. */
  granted: number
  /** That no node has been granted yet. */
  left: number
  /** Milliseconds until the window ends. */
  msLeft: number
}

/** Windows of requests that several nodes let through: they never let through more than a limit says together. */
export interface RequestWindows {
  /** Grants this node a part of what is left of each; one that has ended, or is not there, begins. */
  grant(buckets: ReadonlyArray<{ key: string; limit: RateLimit }>): Promise<RequestShare[]>
}

/** What the nodes of one catalogue have to know of each other to let people and programs in. */
export interface SharedSignIn {
  attempts(kind: string): AttemptStore
  challenges: ChallengeStore
  signingKeys: SigningKeyStore
  requests: RequestWindows
}
