import type { Plan } from '../../src/domain/plan.ts'

/** Current usage of an account. */
export interface Usage {
  pins: number
  /** Bytes that count against the quota. Each distinct DAG counts once. */
  storedBytes: number
  /** Bytes that only deleted records name, in their undo period. Absent before version 0.4.0. */
  keptBytes?: number
}

/** Bytes that the gateway sent for an account in the current month. */
export interface AccountEgress {
  /** In UTC, such as `2026-11`. */
  month: string
  bytes: number
  domains: { domain: string; bytes: number }[]
}

/** The account that the client's credential belongs to. */
export interface User {
  id: string
  email: string
  username: string
  /** The account's email by default. */
  name: string
  role: 'owner' | 'user'
  plan: string
  planDetails: Plan
  clusters: number
  usage: Usage
  /** Up to a few seconds old. */
  egress: AccountEgress
  createdAt: string
  /** Visibility of records whose request names none. Absent before version 0.4.0. */
  defaultVisibility?: 'public' | 'private'
  twoFactorEnabled: boolean
}

/** An API key, without its secret. */
export interface Key {
  name: string
  label: string | null
  /** First characters of the key's secret. */
  prefix: string
  /** Name of the key that created this key. */
  parent: string | null
  scopes: string[]
  ipAllowlist: string[]
  createdAt: string
  expiresAt: string | null
  lastUsed: string | null
  upload: UploadGrant | null
  uses: number
}

/** Limits of an upload token. */
export interface UploadGrant {
  maxUses: number
  /** Maximum size of one upload. Null if only the plan limits the size. */
  maxBytes: number | null
  /** Cluster of the uploads. Null means the account's default cluster. */
  cl: string | null
  /** Expiry of the uploads. Null if they never expire. */
  timelock: string | null
}

/** A newly created key. */
export interface NewKey {
  /** Secret of the key. No other response contains it. */
  token: string
  name: string
  label: string | null
  scopes: string[]
  createdAt: string
  expiresAt: string | null
}

/** A newly created session. */
export interface NewSession {
  /** Credential with every scope for 24 hours. */
  token: string
  user: User
}

/** Response to a sign-in that still needs a second-factor code. */
export interface SecondFactorAsked {
  requires2FA: true
  /** Works once and expires after five minutes. */
  temporaryToken: string
}

/** A session of the account. */
export interface SessionRow {
  id: string
  createdAt: string
  expiresAt: string
  current: boolean
}

/** A secret to set up in an authenticator app. */
export interface SecondFactorSetup {
  /** In Base32. */
  secret: string
  /** The secret as a URL, to show as a QR code. */
  otpauthUrl: string
}

/** One page of a list. */
export interface Page<Row> {
  rows: Row[]
  /** Cursor of the next page. Null on the last page. */
  next: string | null
}
