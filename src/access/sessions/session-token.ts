import { errors, jwtVerify, SignJWT } from 'jose'
import type { Clock } from '../../domain/clock.ts'
import type { SigningKeys } from './signing-keys.ts'

const ALGORITHM = 'HS256'
const ISSUER = 'holdfast'
/** `eyJ` is the start of a JSON object in base64. Text that does not match needs no signature check. */
const SHAPE = /^eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+$/

/** Times are in ms since the epoch, rounded to whole seconds. */
export interface SessionClaims {
  id: string
  accountId: string
  createdAt: number
  expiresAt: number
}

/** Signs and verifies JSON Web Tokens. A valid token does not prove that its session is still live. */
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

  /** Returns null if the token has expired, or if none of the signing keys signed it. */
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
      // Check the types of the claims, because another program may have signed the token.
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
