import type { SecondFactorSetup } from './account-answers.ts'
import type { Connection } from './connection.ts'

/** What turning a second factor off takes: a code of it, a recovery code, or the password. */
export type SecondFactorProof = { code: string } | { password: string }

/** The second factor of the account that asks. A key may do nothing here: each throws `SESSION_REQUIRED` for one. */
export class SecondFactor {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** A secret for an authenticator app. It counts once {@link enable} has seen a code. @throws HoldfastError `CONFLICT` */
  setUp(): Promise<SecondFactorSetup> {
    return this.#connection.json('POST', '/auth/2fa/setup')
  }

  /**
   * Returns the recovery codes, each good once, which are nowhere else.
   *
   * @throws HoldfastError `2fa_invalid`, `CONFLICT` if it is on, or was not set up
   */
  async enable(code: string): Promise<string[]> {
    return (await this.#connection.json<{ recoveryCodes: string[] }>('POST', '/auth/2fa/enable', { json: { code } }))
      .recoveryCodes
  }

  /** @throws HoldfastError `2fa_invalid`, `VALIDATION` for a wrong password, `CONFLICT` if it is not on */
  async disable(proof: SecondFactorProof): Promise<void> {
    await this.#connection.json('POST', '/auth/2fa/disable', { json: proof })
  }
}
