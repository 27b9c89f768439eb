import { createHmac } from 'node:crypto'
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  type IDToken,
  None,
  ResponseBodyError,
  randomPKCECodeVerifier,
  refreshTokenGrant,
  type ServerMetadata,
} from 'openid-client'
import { systemClock } from '../../src/domain/clock.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { Identity, IdentityProvider, OidcConfig, StartedSignIn } from '../../src/index.ts'
import { boundedFetch } from './bounded-fetch.ts'

type Claims = Pick<IDToken, 'iss' | 'sub'> & Readonly<Record<string, unknown>>

export interface OidcProviderOptions extends Pick<OidcConfig, 'issuer' | 'clientId' | 'scope' | 'groupsClaim'> {
  /** Null for a public client. */
  clientSecret: string | null
  /** Maximum time of one request to the provider. */
  timeoutMs?: number
}

const SCOPE = 'openid profile email'
const TIMEOUT_MS = 10_000
/** A provider that rotates its metadata, such as an endpoint, is asked again. */
const METADATA_MS = 60 * 60 * 1_000
/** In seconds. How long ago the provider may have asked the user for a proof. */
const RECENT_SECONDS = 15 * 60
const MOST_GROUPS = 1_000
const LONGEST_TEXT = 255
/** A longer refresh token is not kept. */
const LONGEST_TOKEN = 8_192

/** Authorization code flow with PKCE, by `openid-client`. */
export class OidcProvider implements IdentityProvider {
  readonly #options: OidcProviderOptions
  #known: { configuration: Promise<Configuration>; until: number } | null = null

  constructor(options: OidcProviderOptions) {
    this.#options = options
  }

  async start(redirectUri: string, { isProof = false } = {}): Promise<StartedSignIn> {
    const configuration = await this.#configuration()
    const secret = randomPKCECodeVerifier()
    const url = buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: this.#options.scope ?? SCOPE,
      code_challenge: await calculatePKCECodeChallenge(secret),
      code_challenge_method: 'S256',
      state: derived(secret, 'state'),
      nonce: derived(secret, 'nonce'),
      ...(isProof && { max_age: '0' }),
    })
    return { url: url.href, secret }
  }

  async finish({ redirectUri, secret, answer, isProof }: Parameters<IdentityProvider['finish']>[0]): Promise<Identity> {
    const configuration = await this.#configuration()
    const url = new URL(redirectUri)
    url.search = answer
    try {
      const tokens = await authorizationCodeGrant(configuration, url, {
        pkceCodeVerifier: secret,
        expectedState: derived(secret, 'state'),
        expectedNonce: derived(secret, 'nonce'),
        idTokenExpected: true,
      })
      const claims = tokens.claims()
      if (isProof === true && !isRecent(claims?.auth_time, configuration.serverMetadata())) throw refused()
      return this.#identityOf(configuration, claims, tokens.refresh_token)
    } catch (cause) {
      throw isUnreachable(cause) ? unavailable(cause) : refused(cause)
    }
  }

  async refresh({ issuer, subject, refreshToken }: Parameters<IdentityProvider['refresh']>[0]): Promise<Identity> {
    const configuration = await this.#configuration()
    // The token of another provider is none of this one's business.
    if (issuer !== configuration.serverMetadata().issuer) throw refused()
    try {
      const tokens = await refreshTokenGrant(configuration, refreshToken)
      const claims = tokens.claims()
      // A provider may leave the ID token out of this answer.
      const told = claims ?? (await fetchUserInfo(configuration, tokens.access_token, subject))
      return this.#identityOf(configuration, { iss: issuer, ...told }, tokens.refresh_token ?? refreshToken)
    } catch (cause) {
      // Any other failure, such as a wrong secret of the client, says nothing about the user.
      const isEnded = cause instanceof ResponseBodyError && cause.error === 'invalid_grant'
      throw isEnded ? refused(cause) : unavailable(cause)
    }
  }

  #identityOf(configuration: Configuration, claims: Claims | undefined, refreshToken: string | undefined): Identity {
    // The library takes any tenant of a provider that has several.
    if (claims?.iss !== configuration.serverMetadata().issuer) throw refused()
    const { iss, sub, email, email_verified, name } = claims
    // A subject of another form could not be stored, or would be that of several users.
    if (textOf(sub) === null) throw refused()
    return {
      issuer: iss,
      subject: sub,
      email: email_verified === true ? textOf(email) : null,
      name: textOf(name),
      groups: groupsOf(claims[this.#options.groupsClaim ?? 'groups']),
      refreshToken: textOf(refreshToken, LONGEST_TOKEN),
    }
  }

  /** Asks the provider at the first sign-in. A failure is not remembered. */
  #configuration(): Promise<Configuration> {
    if (this.#known !== null && this.#known.until > systemClock.now()) return this.#known.configuration
    const configuration = this.#discovered()
    this.#known = { configuration, until: systemClock.now() + METADATA_MS }
    configuration.catch(() => {
      if (this.#known?.configuration === configuration) this.#known = null
    })
    return configuration
  }

  async #discovered(): Promise<Configuration> {
    const { issuer, clientId, clientSecret, timeoutMs = TIMEOUT_MS } = this.#options
    const url = new URL(issuer)
    const insecure = isLoopback(url) ? [allowInsecureRequests] : []
    try {
      const configuration = await discovery(url, clientId, undefined, authenticationBy(clientSecret), {
        [customFetch]: boundedFetch(timeoutMs),
        // Without these checks, the library trusts the connection and leaves the signature of the ID token unchecked.
        execute: [...insecure, enableNonRepudiationChecks],
      })
      checkPage(configuration.serverMetadata())
      return configuration
    } catch (cause) {
      throw unavailable(cause)
    }
  }
}

/** Returns a way to send the secret that the provider takes. Each must take the first one, unless it says otherwise. */
function authenticationBy(secret: string | null): ClientAuth {
  if (secret === null) return None()
  return (server, ...rest) => {
    const ways = server.token_endpoint_auth_methods_supported ?? []
    const isPost = ways.includes('client_secret_post') && !ways.includes('client_secret_basic')
    return (isPost ? ClientSecretPost : ClientSecretBasic)(secret)(server, ...rest)
  }
}

/** @throws Error if no browser should go to the page of the provider, such as `javascript:` */
function checkPage({ authorization_endpoint = '' }: ServerMetadata): void {
  const url = URL.parse(authorization_endpoint)
  if (url?.protocol !== 'https:' && !(url?.protocol === 'http:' && isLoopback(url))) {
    throw new Error('the authorization endpoint is no https URL')
  }
}

/**
 * Returns whether the provider has asked the user again. Only a provider that does not tell when, as it says itself, is
 * believed without.
 */
function isRecent(askedAt: unknown, { claims_supported: told }: ServerMetadata): boolean {
  if (typeof askedAt !== 'number') return askedAt === undefined && told?.includes('auth_time') !== true
  return Math.abs(systemClock.now() / 1_000 - askedAt) <= RECENT_SECONDS
}

/** Returns a value that only the holder of the secret can derive, and that does not reveal the secret. */
function derived(secret: string, use: 'state' | 'nonce'): string {
  return createHmac('sha256', secret).update(use).digest('base64url')
}

/** Returns null for a text that the catalogue or a page could not show. */
function textOf(value: unknown, longest = LONGEST_TEXT): string | null {
  if (typeof value !== 'string' || value === '' || value.length > longest) return null
  return /[\p{Cc}\p{Cs}]/u.test(value) ? null : value
}

/** Returns no group for a claim of another form: a guess could give a plan. */
function groupsOf(claim: unknown): string[] {
  if (!Array.isArray(claim) || claim.length > MOST_GROUPS) return []
  return claim.filter(group => textOf(group) !== null)
}

function isLoopback({ hostname }: URL): boolean {
  return ['127.0.0.1', '[::1]', 'localhost'].includes(hostname)
}

/** Returns whether the provider did not answer, as opposed to an answer that is refused. */
function isUnreachable(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === 'TimeoutError' || cause.message === 'fetch failed' || / over \d+ bytes$/.test(cause.message)) {
      return true
    }
  }
  return false
}

function unavailable(cause: unknown): HoldfastError {
  return new HoldfastError('UNAVAILABLE', 'the sign-in provider does not answer as it should: try again later', {
    cause,
  })
}

/** Creates the error of a refused sign-in. It is the same for each reason, which only the log has. */
function refused(cause?: unknown): HoldfastError {
  return new HoldfastError('INVALID_API_KEY', 'the sign-in was refused: start it again', { cause })
}
