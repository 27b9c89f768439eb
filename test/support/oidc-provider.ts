import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

/** A user at the provider. */
export interface ProviderUser {
  sub: string
  email?: string
  email_verified?: boolean
  name?: string
  groups?: unknown
}

/** A request for a code, as the browser sent it. */
export interface Grant {
  user: ProviderUser
  nonce: string
  challenge: string
  redirectUri: string
  isUsed: boolean
}

/** How a provider misbehaves. Each change concerns one step of a sign-in. */
export interface Fault {
  /** Changes the metadata. */
  metadata?: (metadata: Record<string, unknown>) => Record<string, unknown>
  /** Changes the claims of the ID token. */
  claims?: (claims: Record<string, unknown>) => Record<string, unknown>
  /** Replaces the signed ID token. */
  token?: (claims: Record<string, unknown>, provider: TestProvider) => Promise<string> | string
  /** Changes the answer of the token endpoint. */
  tokens?: (tokens: Record<string, unknown>) => Record<string, unknown>
  /** Answers instead of the endpoint. Returns false to leave the answer to the endpoint. */
  answer?: (path: string, response: ServerResponse) => boolean
}

export const CLIENT_ID = 'holdfast'
export const CLIENT_SECRET = 'the+secret/of:the=client&which%only_the_node_has'

export const ACCESS_TOKEN = 'access-token-of-the-test'
const ENCODED = encodeURIComponent(CLIENT_SECRET).replaceAll('_', '%5F')
const BASIC = `Basic ${Buffer.from(`${CLIENT_ID}:${ENCODED}`).toString('base64')}`

/** A provider of OpenID Connect on a loopback port. It signs everyone in as `user`, without a page. */
export class TestProvider {
  /** Paths with their queries. */
  readonly requests: string[] = []
  readonly grants = new Map<string, Grant>()
  /** Refresh tokens that are still good. Each is good for one use, and for `user`. */
  readonly refreshTokens = new Set<string>()
  user: ProviderUser = { sub: 'ada', email: 'ada@example.org', email_verified: true, name: 'Ada', groups: ['staff'] }
  fault: Fault = {}
  issuer = ''
  readonly #server = http.createServer((request, response) => {
    this.#answer(request, response).catch(error => response.writeHead(500).end(String(error)))
  })
  #key: { kid: string; privateKey: CryptoKey; publicKey: CryptoKey } | null = null

  static async start(): Promise<TestProvider> {
    const provider = new TestProvider()
    await once(provider.#server.listen(0, '127.0.0.1'), 'listening')
    provider.issuer = `http://127.0.0.1:${(provider.#server.address() as { port: number }).port}`
    provider.#key = { kid: 'one', ...(await generateKeyPair('RS256', { extractable: true })) }
    return provider
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  /** Opens the provider's page as the browser would. Returns the URL to which it sends the browser back. */
  async signIn(url: string): Promise<URL> {
    const answer = await fetch(url, { redirect: 'manual' })
    return new URL(answer.headers.get('location') ?? 'about:blank')
  }

  async publicKey(): Promise<JWK> {
    return { ...(await exportJWK(this.#keys().publicKey)), kid: this.#keys().kid, use: 'sig', alg: 'RS256' }
  }

  sign(claims: Record<string, unknown>, header: Record<string, string> = {}): Promise<string> {
    const { kid, privateKey } = this.#keys()
    return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid, ...header }).sign(privateKey)
  }

  #keys() {
    if (this.#key === null) throw new Error('the provider has not started')
    return this.#key
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', this.issuer)
    this.requests.push(`${url.pathname}${url.search}`)
    if (this.fault.answer?.(url.pathname, response) === true) return
    const json = (body: unknown, status = 200): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    if (url.pathname === '/.well-known/openid-configuration') return json(this.#metadata())
    if (url.pathname === '/keys') return json({ keys: [await this.publicKey()] })
    if (url.pathname === '/authorize') return this.#authorize(url, response)
    if (url.pathname === '/userinfo') return json(this.user)
    if (url.pathname !== '/token') return json({}, 404)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const form = new URLSearchParams(Buffer.concat(chunks).toString())
    const isClient = request.headers.authorization === BASIC || form.get('client_secret') === CLIENT_SECRET
    if (!isClient) return json({ error: 'invalid_client' }, 401)
    if (form.get('grant_type') === 'refresh_token') {
      if (!this.refreshTokens.delete(form.get('refresh_token') ?? '')) return json({ error: 'invalid_grant' }, 400)
      return json(await this.#tokens(this.user, {}))
    }
    const grant = this.grants.get(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isRight = grant?.challenge === challenge && grant.redirectUri === form.get('redirect_uri') && !grant.isUsed
    if (grant === undefined || !isRight) return json({ error: 'invalid_grant' }, 400)
    grant.isUsed = true
    json(await this.#tokens(grant.user, { nonce: grant.nonce }))
  }

  #authorize({ searchParams }: URL, response: ServerResponse): void {
    const value = (name: string): string => searchParams.get(name) ?? ''
    if (value('code_challenge_method') !== 'S256' || value('client_id') !== CLIENT_ID) {
      response.writeHead(400).end('no PKCE')
      return
    }
    const code = randomBytes(16).toString('hex')
    const [nonce, challenge, redirectUri] = [value('nonce'), value('code_challenge'), value('redirect_uri')]
    this.grants.set(code, { user: this.user, nonce, challenge, redirectUri, isUsed: false })
    const target = new URL(redirectUri)
    target.search = new URLSearchParams({ code, state: value('state'), iss: this.issuer }).toString()
    response.writeHead(302, { location: target.href }).end()
  }

  async #tokens(user: ProviderUser, more: { nonce?: string }): Promise<object> {
    const now = Math.floor(Date.now() / 1_000)
    const own = { iss: this.issuer, aud: CLIENT_ID, iat: now, exp: now + 300, ...more, ...user }
    const claims = this.fault.claims?.(own) ?? own
    const refresh_token = `refresh-${randomBytes(16).toString('hex')}`
    this.refreshTokens.add(refresh_token)
    const tokens = { access_token: ACCESS_TOKEN, token_type: 'Bearer', expires_in: 300, refresh_token }
    const id_token = (await this.fault.token?.(claims, this)) ?? (await this.sign(claims))
    return this.fault.tokens?.({ ...tokens, id_token }) ?? { ...tokens, id_token }
  }

  #metadata(): Record<string, unknown> {
    const metadata = {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      jwks_uri: `${this.issuer}/keys`,
      userinfo_endpoint: `${this.issuer}/userinfo`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    }
    return this.fault.metadata?.(metadata) ?? metadata
  }
}
