import type { SecondFactorSetup } from './account-answers.ts'
import type { Connection } from './connection.ts'

/** Proof for turning the second factor off. `code` may be a recovery code. */
export type SecondFactorProof = { code: string } | { password: string }

/** Second factor of the account. Every method throws `SESSION_REQUIRED` if the credential is a key. */
export class SecondFactor {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Creates a secret for an authenticator app. The second factor stays off until {@link enable} is called.
   *
   * @throws HoldfastError `CONFLICT` if the second factor is on
   * @example const { secret } = await client.secondFactor.setUp()
   */
  setUp(): Promise<SecondFactorSetup> {
    return this.#connection.json('POST', '/auth/2fa/setup')
  }

  /**
   * Turns the second factor on. Returns the recovery codes, which work once each and are in no other response.
   *
   * @throws HoldfastError `2fa_invalid` for a wrong code, `CONFLICT` if the second factor is on or was not set up
   * @example const recoveryCodes = await client.secondFactor.enable('123456')
   */
  async enable(code: string): Promise<string[]> {
    return (await this.#connection.json<{ recoveryCodes: string[] }>('POST', '/auth/2fa/enable', { json: { code } }))
      .recoveryCodes
  }

  /**
   * Turns the second factor off.
   *
   * @throws HoldfastError `2fa_invalid` for a wrong code, `VALIDATION` for a wrong password, `CONFLICT` if the second
   * factor is off
   * @example await client.secondFactor.disable({ code: '123456' })
   */
  async disable(proof: SecondFactorProof): Promise<void> {
    await this.#connection.json('POST', '/auth/2fa/disable', { json: proof })
  }
}
