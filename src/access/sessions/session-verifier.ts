import type { SessionStore } from '../../catalogue/session-store.ts'
import type { Clock } from '../../domain/clock.ts'
import type { CredentialVerifier, VerifiedCredential } from '../credentials/credential-verifier.ts'
import { isLive } from '../credentials/credential-verifier.ts'
import { SCOPES } from '../principal.ts'
import type { SessionTokens } from './session-token.ts'

export class SessionVerifier implements CredentialVerifier {
  readonly #tokens: SessionTokens
  readonly #store: SessionStore
  readonly #clock: Clock

  constructor(tokens: SessionTokens, store: SessionStore, clock: Clock) {
    this.#tokens = tokens
    this.#store = store
    this.#clock = clock
  }

  async verify(secret: string): Promise<VerifiedCredential | null> {
    const claims = await this.#tokens.verify(secret)
    if (claims === null) return null
    const session = await this.#store.get(claims.id)
    if (session === null || session.accountId !== claims.accountId) return null
    const { id, accountId, expiresAt } = session
    if (!isLive(session, this.#clock.now())) return null
    return {
      accountId,
      credential: { kind: 'session', id, name: null, scopes: SCOPES, expiresAt },
      allowedFrom: null,
      used: () => {},
    }
  }
}
