import type { SecondFactorSetup } from './account-answers.ts'
import type { Connection } from './connection.ts'

/** Proof for turning the second factor off: a code, a recovery code, or the password. */
export type SecondFactorProof = { code: string } | { password: string }

/** Second factor of the account. Every method throws `SESSION_REQUIRED` for a key. */
export class SecondFactor {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Creates a secret for an authenticator app. It is in force after {@link enable}. @throws HoldfastError `CONFLICT`
   */
  setUp(): Promise<SecondFactorSetup> {
    return this.#connection.json('POST', '/auth/2fa/setup')
  }

  /**
   * Turns the second factor on. Only this answer contains the recovery codes, each valid once.
   *
   * @throws HoldfastError `2fa_invalid`, `CONFLICT` if it is on, or was not set up
   */
  async enable(code: string): Promise<string[]> {
    return (await this.#connection.json<{ recoveryCodes: string[] }>('POST', '/auth/2fa/enable', { json: { code } }))
      .recoveryCodes
  }

  /**
   * Turns the second factor off. @throws HoldfastError `2fa_invalid`, `VALIDATION` for a wrong password, `CONFLICT` if
   * it is off
   */
  async disable(proof: SecondFactorProof): Promise<void> {
    await this.#connection.json('POST', '/auth/2fa/disable', { json: proof })
  }
}
