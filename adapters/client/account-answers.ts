import type { Static } from 'typebox'
import type * as auth from '../../src/contract/account/auth.ts'
import type * as secondFactor from '../../src/contract/account/second-factor-routes.ts'
import type * as sessions from '../../src/contract/account/session-routes.ts'
import type * as tokens from '../../src/contract/account/tokens.ts'
import type * as users from '../../src/contract/account/user-fields.ts'

/** Current usage of an account. */
export type Usage = Static<typeof users.usage>
/** Bytes that the gateway sent for an account in the current month. */
export type AccountEgress = Static<typeof users.egress>
/** At most `requests` requests in each window of `windowSeconds`. */
export type RateLimit = Static<typeof users.RateLimitView>
/** Limits of an account. Null means no limit. All sizes are in bytes. */
export type Plan = Static<typeof users.PlanDetails>
/** The account that the client's credential belongs to. */
export type User = Static<typeof users.User>
/** An API key, without its secret. */
export type Key = Static<typeof tokens.Key>
/** Limits of an upload token. */
export type UploadGrant = Static<typeof tokens.Grant>
/** A newly created key. */
export type NewKey = Static<typeof tokens.NewKeyView>
/** A newly created session. */
export type NewSession = Static<typeof auth.SignInAnswer>
/** Response to a sign-in that still needs a second-factor code. */
export type SecondFactorAsked = Static<typeof auth.SecondFactorAsked>
/** A session of the account. */
export type SessionRow = Static<typeof sessions.SessionView>
/** A secret to set up in an authenticator app. */
export type SecondFactorSetup = Static<typeof secondFactor.SecondFactorSetupView>

/** One page of a list. */
export interface Page<Row> {
  rows: Row[]
  /** Cursor of the next page. Null on the last page. */
  next: string | null
}
