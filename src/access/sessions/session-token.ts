import { errors, jwtVerify, SignJWT } from 'jose'
import type { Clock } from '../../domain/clock.ts'
import type { SigningKeys } from './signing-keys.ts'

const ALGORITHM = 'HS256'
const ISSUER = 'holdfast'
/** Header and claims begin as JSON objects do; anything else needs no look at its signature. */
const SHAPE = /^eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+$/

/** What a session token says. Times are milliseconds since the epoch, in whole seconds. */
export interface SessionClaims {
  /** Of the session. */
  id: string
  accountId: string
  createdAt: number
  expiresAt: number
}

/** Sessions as signed JSON Web Tokens. A token that is in order may still be of a session that was ended. */
export class SessionTokens {
  readonly #keys: SigningKeys
  readonly #clock: Clock

  constructor(keys: SigningKeys, clock: Clock) {
    this.#keys = keys
    this.#clock = clock
  }

  async sign({ id, accountId, createdAt, expiresAt }: SessionClaims): Promise<string> {
    const { kid, key } = await this.#keys.current()
    return new SignJWT()
      .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT', kid })
      .setIssuer(ISSUER)
      .setSubject(accountId)
      .setJti(id)
      .setIssuedAt(createdAt / 1_000)
      .setExpirationTime(expiresAt / 1_000)
      .sign(key)
  }

  /** Null unless the token was signed by one of our keys and has not expired. */
  async verify(token: string): Promise<Pick<SessionClaims, 'id' | 'accountId'> | null> {
    if (!SHAPE.test(token)) return null
    try {
      const { payload } = await jwtVerify(token, header => this.#keyOf(header.kid), {
        algorithms: [ALGORITHM],
        issuer: ISSUER,
        typ: 'JWT',
        requiredClaims: ['sub', 'jti', 'exp'],
        currentDate: new Date(this.#clock.now()),
      })
      const { jti, sub } = payload
      // Types of claims are promises of the library about tokens that it has made.
      return typeof jti === 'string' && typeof sub === 'string' ? { id: jti, accountId: sub } : null
    } catch (error) {
      if (error instanceof errors.JOSEError) return null
      throw error
    }
  }

  async #keyOf(kid: unknown) {
    const key = typeof kid === 'string' ? await this.#keys.find(kid) : undefined
    if (key === undefined) throw new errors.JWKSNoMatchingKey()
    return key
  }
}
