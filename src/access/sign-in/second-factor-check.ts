import type { SecondFactorRow, SecondFactorStore } from '../../catalogue/second-factors.ts'
import type { AttemptStore } from '../../catalogue/sign-in.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { RateLimit } from '../../domain/plan.ts'
import type { Sealing } from '../../domain/sealing.ts'
import { type RandomBytes, systemRandom } from '../keys/api-key-secret.ts'
import { AttemptLimits } from '../limits/attempt-limits.ts'
import type { Account } from '../principal.ts'
import { generateRecoveryCodes, hashRecoveryCode } from './recovery-code.ts'
import { matchTotp, otpauthUrl, totpSecretText } from './totp.ts'

/** What an authenticator app is set up with. */
export interface SecondFactorSetup {
  /** To type in. */
  secret: string
  /** To scan. */
  otpauthUrl: string
}

export interface SecondFactorOptions {
  store: SecondFactorStore
  /** What secrets are sealed with before they are stored. */
  sealing: Sealing
  /** Wrong codes, by account. */
  attempts: AttemptStore
  clock: Clock
  random?: RandomBytes
}

/** Six digits are guessed in no time, if one may. */
const WRONG_CODES: RateLimit = { requests: 5, windowSeconds: 15 * 60 }
/** RFC 4226 recommends 160 bits. */
const SECRET_BYTES = 20

/** The second factor of accounts: codes by time, and recovery codes for whoever has lost their source. */
export class SecondFactor {
  readonly #store: SecondFactorStore
  readonly #sealing: Sealing
  readonly #clock: Clock
  readonly #random: RandomBytes
  readonly #attempts: AttemptLimits

  constructor(options: SecondFactorOptions) {
    this.#store = options.store
    this.#sealing = options.sealing
    this.#clock = options.clock
    this.#random = options.random ?? systemRandom
    this.#attempts = new AttemptLimits({ store: options.attempts, clock: options.clock, limit: WRONG_CODES })
  }

  /** Seals what an earlier version has stored in clear. To be called before anything else is asked. */
  async sealStored(): Promise<void> {
    const inClear = await this.#store.inClear()
    const sealed = inClear.map(secret => ({
      ...secret,
      sealed: this.#sealing.seal(secret.clear, contextOf(secret.accountId)),
    }))
    if (sealed.length > 0) await this.#store.seal(sealed)
  }

  async isEnabled(accountId: string): Promise<boolean> {
    return isOn(await this.#store.get(accountId))
  }

  /** Makes a secret, which counts once {@link enable} has seen a code of it. @throws HoldfastError `CONFLICT`. */
  async begin(account: Account): Promise<SecondFactorSetup> {
    const secret = this.#random(SECRET_BYTES)
    const outcome = await this.#store.begin(account.id, this.#sealing.seal(secret, contextOf(account.id)))
    if (outcome === 'enabled') throw alreadyOn()
    if (outcome === 'no_account') throw new HoldfastError('NOT_FOUND', `there is no account ${account.id}`)
    return { secret: totpSecretText(secret), otpauthUrl: otpauthUrl(secret, account.email) }
  }

  /**
   * Asks for a code at every login from now on. Returns the recovery codes, which are never to be had again.
   *
   * @throws HoldfastError `CONFLICT` unless it is being set up, `2fa_required`, `2fa_invalid`, or `RATE_LIMIT`.
   */
  async enable(accountId: string, code: string | undefined): Promise<string[]> {
    const row = await this.#store.get(accountId)
    if (row === null) throw new HoldfastError('CONFLICT', 'two-factor authentication is not being set up')
    if (row.enabledAt !== null) throw alreadyOn()
    const recoveryCodes = generateRecoveryCodes(this.#random)
    const hashes = recoveryCodes.map(hashRecoveryCode)
    await this.#attempt(accountId, code, async given => {
      const match = this.#match(accountId, row, given)
      return match !== null && this.#store.enable(accountId, match, this.#clock.now(), hashes)
    })
    return recoveryCodes
  }

  /** Asks for no code any more. Returns whether one was asked for. */
  disable(accountId: string): Promise<boolean> {
    return this.#store.disable(accountId)
  }

  /**
   * Passes an account without a second factor, or with a code that is right: one by time, or a recovery code. Either
   * is used up by it.
   *
   * @throws HoldfastError `2fa_required` without a code, `2fa_invalid`, or `RATE_LIMIT` after too many wrong ones.
   */
  async check(accountId: string, code: string | undefined): Promise<void> {
    const row = await this.#store.get(accountId)
    if (!isOn(row)) return
    await this.#attempt(accountId, code, async given => {
      const match = this.#match(accountId, row, given)
      if (match !== null && (await this.#store.useStep(accountId, match))) return true
      return this.#store.useRecoveryCode(accountId, hashRecoveryCode(given))
    })
  }

  /** `use` tells whether the code was right, and had not been used: the store takes no code twice. */
  async #attempt(accountId: string, code: string | undefined, use: (code: string) => Promise<boolean>): Promise<void> {
    const given = code?.trim() ?? ''
    if (given === '') throw new HoldfastError('2fa_required', 'this needs the code of the second factor')
    const refusal = await this.#attempts.take(accountId)
    if (refusal !== null) throw refusal
    const right = await use(given)
    if (!right) throw new HoldfastError('2fa_invalid', 'the code is wrong, out of date, or has been used already')
    await this.#attempts.clear(accountId)
  }

  /** The secret, and the step that a code by time belongs to; null if it belongs to none that is still good. */
  #match(
    accountId: string,
    { secret, lastStep }: SecondFactorRow,
    code: string,
  ): { secret: Uint8Array; step: number } | null {
    const opened = this.#sealing.open(secret, contextOf(accountId))
    // Some apps show the digits in two groups.
    const step = matchTotp(opened, code.replaceAll(' ', ''), this.#clock.now(), lastStep)
    return step === null ? null : { secret, step }
  }
}

function contextOf(accountId: string): string {
  return `second-factor ${accountId}`
}

function isOn(row: SecondFactorRow | null): row is SecondFactorRow {
  return row !== null && row.enabledAt !== null
}

function alreadyOn(): HoldfastError {
  return new HoldfastError('CONFLICT', 'two-factor authentication is already on')
}
