import type { IdentityKey } from '../../catalogue/account-store.ts'
import type { DueIdentity, IdentityStore, StoredRefresh } from '../../catalogue/identity-store.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import type { Logger } from '../../domain/logger.ts'
import type { Sealing } from '../../domain/sealing.ts'
import type { CredentialCache } from '../credentials/credential-cache.ts'
import { PROVIDER_SESSION_MS } from '../sessions/session-service.ts'
import type { Identity, ProviderSignIn } from './identity-provider.ts'

export interface IdentityChecksOptions {
  /** Null if the node has no sign-in provider. */
  signIn: ProviderSignIn | null
  identities: IdentityStore
  sealing: Sealing
  cache: CredentialCache
  clock: Clock
  logger: Logger
}

/**
 * Time in ms for which a confirmation counts. With the interval of the checks, a plan by a group ends within an hour.
 */
const CONFIRMED_MS = 50 * 60 * 1_000
const LOOK_MS = 5 * 60 * 1_000
/** Leaves several attempts before a plan lapses. */
const REFRESH_MS = 30 * 60 * 1_000
/** Longer than a refresh takes, and the pause before the next attempt. */
const LEASE_MS = LOOK_MS
const REFRESHES_AT_ONCE = 20
const LAPSED_AT_ONCE = 100
/** How long a stop waits for refreshes, because a provider may accept a token once. */
const STOP_MS = 5_000

/** Ends a plan by a group within an hour, unless the provider confirms the user again. */
export class IdentityChecks {
  readonly #options: IdentityChecksOptions
  #cancelLook: () => void = () => undefined
  #refreshing: Promise<void> | null = null
  #isStopped = false

  constructor(options: IdentityChecksOptions) {
    this.#options = options
  }

  planOf(groups: readonly string[]): string {
    const { signIn } = this.#options
    return signIn?.groups.find(({ group }) => groups.includes(group))?.plan ?? this.#basePlan
  }

  /** Returns null if the provider gave no refresh token. */
  storedRefresh(identity: Identity): StoredRefresh | null {
    const { sealing, clock } = this.#options
    const { refreshToken } = identity
    if (refreshToken === null) return null
    return { token: sealing.seal(Buffer.from(refreshToken), contextOf(identity)), at: clock.now() + REFRESH_MS }
  }

  /** Looks every few minutes. A node without a provider looks as well, because it may have had one. */
  watch(): void {
    this.#cancelLook = this.#options.clock.after(LOOK_MS, () => {
      this.watch()
      this.look().catch(err => this.#options.logger.warn({ err }, 'cannot end plans by groups'))
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelLook()
    if (this.#refreshing === null) return
    const late = Promise.withResolvers<void>()
    const cancel = this.#options.clock.after(STOP_MS, late.resolve)
    await Promise.race([this.#refreshing, late.promise])
    cancel()
  }

  /** Ends the plans that nobody confirmed in time. Begins the refreshes that are due, which a slow provider may delay. */
  async look(): Promise<void> {
    const { identities, clock, cache, logger } = this.#options
    const before = clock.now() - CONFIRMED_MS
    for (let lapsed = LAPSED_AT_ONCE; lapsed === LAPSED_AT_ONCE; ) {
      lapsed = await identities.lapse(before, this.#basePlan, LAPSED_AT_ONCE)
      if (lapsed > 0) cache.clear()
    }
    this.#refreshing ??= this.#refreshDue()
      .catch(err => logger.warn({ err }, 'cannot read the users of the sign-in provider'))
      .finally(() => {
        this.#refreshing = null
      })
  }

  get #basePlan(): string {
    return this.#options.signIn?.plan ?? 'free'
  }

  async #refreshDue(): Promise<void> {
    const { identities, clock, signIn, cache, logger } = this.#options
    if (signIn === null) return
    const failures: unknown[] = []
    for (let taken = REFRESHES_AT_ONCE; taken === REFRESHES_AT_ONCE && !this.#isStopped; ) {
      const now = clock.now()
      const due = await identities.takeDue(now, now + LEASE_MS, REFRESHES_AT_ONCE)
      await Promise.all(due.map(each => this.#refresh(each, signIn).catch(error => failures.push(error))))
      if (due.length > 0) cache.clear()
      taken = due.length
    }
    if (failures.length === 0) return
    logger.warn({ err: failures[0], users: failures.length }, 'the sign-in provider did not confirm users')
  }

  async #refresh(due: DueIdentity, { provider, plan }: ProviderSignIn): Promise<void> {
    const { identities, sealing, clock } = this.#options
    const { issuer, subject, token } = due
    const refreshToken = Buffer.from(sealing.open(token, contextOf(due))).toString()
    try {
      const identity = await provider.refresh({ issuer, subject, refreshToken })
      if (identity.issuer !== issuer || identity.subject !== subject) {
        throw new HoldfastError('UNAVAILABLE', 'the sign-in provider answered for another user')
      }
      const refresh = this.storedRefresh({ ...identity, refreshToken: identity.refreshToken ?? refreshToken })
      if (refresh !== null) await identities.refreshed(due, this.planOf(identity.groups), clock.now(), refresh)
    } catch (error) {
      if (isHoldfastError(error, 'INVALID_API_KEY')) await identities.revoke(due, plan, PROVIDER_SESSION_MS)
      throw error
    }
  }
}

/** Binds a sealed refresh token to its user, so that nobody can use it in the row of another user. */
function contextOf({ issuer, subject }: IdentityKey): string {
  return `refresh-token ${JSON.stringify([issuer, subject])}`
}
