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

/** Secret for an authenticator app, in two forms. */
export interface SecondFactorSetup {
  /** The secret in base32, for manual entry. */
  secret: string
  /** URL with the secret, to be shown as a QR code. */
  otpauthUrl: string
}

export interface SecondFactorOptions {
  store: SecondFactorStore
  sealing: Sealing
  attempts: AttemptStore
  clock: Clock
  random?: RandomBytes
}

/** The limit is low because a code has only six digits. */
const WRONG_CODES: RateLimit = { requests: 5, windowSeconds: 15 * 60 }
/** RFC 4226 recommends 160 bits. */
const SECRET_BYTES = 20

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

  /** Encrypts the secrets that an earlier version stored in plain text. Must run before any other method. */
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

  async begin(account: Account): Promise<SecondFactorSetup> {
    const secret = this.#random(SECRET_BYTES)
    const outcome = await this.#store.begin(account.id, this.#sealing.seal(secret, contextOf(account.id)))
    if (outcome === 'enabled') throw alreadyOn()
    if (outcome === 'no_account') throw new HoldfastError('NOT_FOUND', `there is no account ${account.id}`)
    return { secret: totpSecretText(secret), otpauthUrl: otpauthUrl(secret, account.email) }
  }

  async enable(accountId: string, code: string | undefined): Promise<string[]> {
    const row = await this.#store.get(accountId)
    if (row === null) throw new HoldfastError('CONFLICT', 'two-factor authentication has not been set up')
    if (row.enabledAt !== null) throw alreadyOn()
    const recoveryCodes = generateRecoveryCodes(this.#random)
    const hashes = recoveryCodes.map(hashRecoveryCode)
    await this.#attempt(accountId, code, async given => {
      const match = this.#match(accountId, row, given)
      return match !== null && this.#store.enable(accountId, match, this.#clock.now(), hashes)
    })
    return recoveryCodes
  }

  disable(accountId: string): Promise<boolean> {
    return this.#store.disable(accountId)
  }

  /**
   * Checks a time-based code or a recovery code, and marks the code as used. An account without a second factor needs
   * no code.
   * @throws HoldfastError `2fa_required` without a code, `2fa_invalid`, or `RATE_LIMIT` after too many wrong codes
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

  /** @param use marks the code as used. Returns true if the code was correct and unused. */
  async #attempt(accountId: string, code: string | undefined, use: (code: string) => Promise<boolean>): Promise<void> {
    const given = code?.trim() ?? ''
    if (given === '') throw new HoldfastError('2fa_required', 'code of the second factor is missing')
    const refusal = await this.#attempts.take(accountId)
    if (refusal !== null) throw refusal
    const right = await use(given)
    if (!right) throw new HoldfastError('2fa_invalid', 'code is wrong, expired or already used')
    await this.#attempts.clear(accountId)
  }

  /** Returns null unless the code is a valid time-based code. */
  #match(
    accountId: string,
    { secret, lastStep }: SecondFactorRow,
    code: string,
  ): { secret: Uint8Array; step: number } | null {
    const opened = this.#sealing.open(secret, contextOf(accountId))
    // Remove spaces, because some apps show the digits in two groups.
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
