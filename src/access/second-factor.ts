import type { SecondFactorTable } from '../catalogue/sqlite/second-factor-table.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { RateLimit } from '../domain/plan.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import { type RandomBytes, systemRandom } from './api-key-secret.ts'
import { AttemptLimits } from './attempt-limits.ts'
import type { Account } from './principal.ts'
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
  table: SecondFactorTable
  writes: WriteQueue
  clock: Clock
  random?: RandomBytes
}

/** Six digits are guessed in no time, if one may. */
const WRONG_CODES: RateLimit = { requests: 5, windowSeconds: 15 * 60 }
/** RFC 4226 recommends 160 bits. */
const SECRET_BYTES = 20

/** The second factor of accounts: codes by time, and recovery codes for whoever has lost their source. */
export class SecondFactor {
  readonly #table: SecondFactorTable
  readonly #writes: WriteQueue
  readonly #clock: Clock
  readonly #random: RandomBytes
  readonly #attempts: AttemptLimits

  constructor(options: SecondFactorOptions) {
    this.#table = options.table
    this.#writes = options.writes
    this.#clock = options.clock
    this.#random = options.random ?? systemRandom
    this.#attempts = new AttemptLimits(options.clock, WRONG_CODES)
  }

  isEnabled(accountId: string): boolean {
    const row = this.#table.get(accountId)
    return row !== undefined && row.enabledAt !== null
  }

  /** Makes a secret, which counts once {@link enable} has seen a code of it. @throws HoldfastError `CONFLICT`. */
  async begin(account: Account): Promise<SecondFactorSetup> {
    const secret = this.#random(SECRET_BYTES)
    await this.#write(() => {
      if (this.isEnabled(account.id)) throw alreadyOn()
      this.#table.put(account.id, secret)
    })
    return { secret: totpSecretText(secret), otpauthUrl: otpauthUrl(secret, account.email) }
  }

  /**
   * Asks for a code at every login from now on. Returns the recovery codes, which are never to be had again.
   *
   * @throws HoldfastError `CONFLICT` unless it is being set up, `2fa_required`, `2fa_invalid`, or `RATE_LIMIT`.
   */
  async enable(accountId: string, code: string | undefined): Promise<string[]> {
    const row = this.#table.get(accountId)
    if (row === undefined) throw new HoldfastError('CONFLICT', 'two-factor authentication is not being set up')
    if (row.enabledAt !== null) throw alreadyOn()
    const recoveryCodes = generateRecoveryCodes(this.#random)
    await this.#attempt(accountId, code, given => {
      if (!this.#useTotp(accountId, given)) return false
      this.#table.enable(accountId, this.#clock.now(), recoveryCodes.map(hashRecoveryCode))
      return true
    })
    return recoveryCodes
  }

  /** Asks for no code any more. Returns whether one was asked for. */
  disable(accountId: string): Promise<boolean> {
    return this.#write(() => {
      const was = this.isEnabled(accountId)
      this.#table.delete(accountId)
      return was
    })
  }

  /**
   * Passes an account without a second factor, or with a code that is right: one by time, or a recovery code. Either
   * is used up by it.
   *
   * @throws HoldfastError `2fa_required` without a code, `2fa_invalid`, or `RATE_LIMIT` after too many wrong ones.
   */
  async check(accountId: string, code: string | undefined): Promise<void> {
    if (!this.isEnabled(accountId)) return
    await this.#attempt(
      accountId,
      code,
      given => this.#useTotp(accountId, given) || this.#table.useRecoveryCode(accountId, hashRecoveryCode(given)),
    )
  }

  /** `use` runs inside a transaction, so that one code cannot be used twice at once. */
  async #attempt(accountId: string, code: string | undefined, use: (code: string) => boolean): Promise<void> {
    const given = code?.trim() ?? ''
    if (given === '') throw new HoldfastError('2fa_required', 'this needs the code of the second factor')
    const refusal = this.#attempts.take(accountId)
    if (refusal !== null) throw refusal
    const right = await this.#write(() => use(given))
    if (!right) throw new HoldfastError('2fa_invalid', 'the code is wrong, out of date, or has been used already')
    this.#attempts.clear(accountId)
  }

  #useTotp(accountId: string, code: string): boolean {
    const row = this.#table.get(accountId)
    if (row === undefined) return false
    // Some apps show the digits in two groups.
    const step = matchTotp(row.secret, code.replaceAll(' ', ''), this.#clock.now(), row.lastStep)
    return step !== null && this.#table.useStep(accountId, step)
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#writes.run(work, { durable: true })
  }
}

function alreadyOn(): HoldfastError {
  return new HoldfastError('CONFLICT', 'two-factor authentication is already on')
}
