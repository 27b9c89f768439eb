import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto'
import { exportSPKI, importJWK, SignJWT } from 'jose'
import { describe, expect, test, vi } from 'vitest'
import { type IdentityProvider, oidc } from '../../../adapters/oidc/index.ts'
import { OidcProvider } from '../../../adapters/oidc/oidc-provider.ts'
import { CLIENT_ID, CLIENT_SECRET, type Fault, TestProvider } from '../../support/oidc-provider.ts'

const REDIRECT_URI = 'https://pins.example.org/console/'
const REFUSED = { code: 'INVALID_API_KEY', message: 'the sign-in was refused: start it again' }
const AWAY = { code: 'UNAVAILABLE' }

async function withProvider(run: (provider: TestProvider, node: IdentityProvider) => Promise<void>): Promise<void> {
  await using provider = await TestProvider.start()
  const { issuer } = provider
  await run(provider, new OidcProvider({ issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, timeoutMs: 500 }))
}

async function signIn(provider: TestProvider, node: IdentityProvider, change = (answer: string): string => answer) {
  const { url, secret } = await node.start(REDIRECT_URI)
  const { search } = await provider.signIn(url)
  return node.finish({ redirectUri: REDIRECT_URI, secret, answer: change(search) })
}

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function hmacToken(claims: object, key: string, kid = 'one'): string {
  const text = `${part({ alg: 'HS256', kid })}.${part(claims)}`
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
}

const now = (): number => Math.floor(Date.now() / 1_000)
const other = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey
const offersHs256: Fault['metadata'] = metadata => ({
  ...metadata,
  id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
})

/** Answers of a hostile or broken provider. Each must be refused. */
const refusals: readonly [what: string, fault: Fault][] = [
  ['another issuer', { claims: claims => ({ ...claims, iss: 'https://evil.example' }) }],
  ['another audience', { claims: claims => ({ ...claims, aud: 'another client' }) }],
  ['a further audience without azp', { claims: claims => ({ ...claims, aud: [CLIENT_ID, 'another'] }) }],
  ['the azp of another client', { claims: claims => ({ ...claims, aud: [CLIENT_ID, 'b'], azp: 'b' }) }],
  ['another nonce', { claims: claims => ({ ...claims, nonce: 'of another sign-in' }) }],
  ['no nonce', { claims: ({ nonce: _, ...claims }) => claims }],
  ['no subject', { claims: ({ sub: _, ...claims }) => claims }],
  ['an empty subject', { claims: claims => ({ ...claims, sub: '' }) }],
  ['a subject with a control character', { claims: claims => ({ ...claims, sub: 'a\0b' }) }],
  ['a subject that is too long', { claims: claims => ({ ...claims, sub: 'x'.repeat(256) }) }],
  ['no expiry', { claims: ({ exp: _, ...claims }) => claims }],
  ['an expired token', { claims: claims => ({ ...claims, iat: now() - 900, exp: now() - 600 }) }],
  ['a token of the future', { claims: claims => ({ ...claims, nbf: now() + 600 }) }],
  ['alg none', { metadata: offersHs256, token: claims => `${part({ alg: 'none' })}.${part(claims)}.` }],
  ['HS256 with the secret', { metadata: offersHs256, token: claims => hmacToken(claims, CLIENT_SECRET) }],
  [
    'HS256 with the public key',
    {
      metadata: offersHs256,
      token: async (claims, provider) => {
        const key = await importJWK(await provider.publicKey(), 'RS256', { extractable: true })
        if (key instanceof Uint8Array) throw new Error('the key is not public')
        return hmacToken(claims, await exportSPKI(key))
      },
    },
  ],
  ['an unknown key id', { token: (claims, provider) => provider.sign(claims, { kid: 'unknown' }) }],
  [
    'the key of another',
    { token: claims => new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(other) },
  ],
  [
    'a key inside the token',
    {
      token: claims => {
        const jwk = { kty: 'oct', k: 'AAAA' }
        return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'one', jwk } as never).sign(other)
      },
    },
  ],
  [
    'an altered token',
    {
      token: async (claims, provider) => {
        const [head, , signature] = (await provider.sign(claims)).split('.')
        return `${head}.${part({ ...claims, sub: 'owner' })}.${signature}`
      },
    },
  ],
  ['no ID token', { token: () => undefined as never, claims: () => ({ iss: 'x' }) }],
  ['a text that is no token', { token: () => 'no token' }],
  [
    'an error of the token endpoint',
    { answer: (path, response) => path === '/token' && !!response.writeHead(400).end('{"error":"invalid_grant"}') },
  ],
  [
    'a page instead of tokens',
    {
      answer: (path, response) =>
        path === '/token' && !!response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    },
  ],
  [
    'a redirect of the token endpoint',
    {
      answer: (path, response) =>
        path === '/token' && !!response.writeHead(307, { location: 'http://127.0.0.1:9/stolen' }).end(),
    },
  ],
]

/** A provider that cannot be asked. The sign-in fails, but may be tried again. */
const outages: readonly [what: string, fault: Fault][] = [
  ['metadata of another issuer', { metadata: metadata => ({ ...metadata, issuer: 'https://evil.example' }) }],
  [
    'a redirect of the metadata',
    {
      answer: (path, response) =>
        path.startsWith('/.well') && !!response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end(),
    },
  ],
  ['metadata that are no JSON', { answer: (path, response) => path.startsWith('/.well') && !!response.end('<html>') }],
  ['huge metadata', { metadata: metadata => ({ ...metadata, more: 'x'.repeat(300_000) }) }],
  [
    'a page that is a script',
    { metadata: metadata => ({ ...metadata, authorization_endpoint: 'javascript:alert(1)' }) },
  ],
  ['a page without HTTPS', { metadata: metadata => ({ ...metadata, authorization_endpoint: 'http://evil.example/' }) }],
  ['no page', { metadata: ({ authorization_endpoint: _, ...metadata }) => metadata }],
  ['no answer', { answer: path => path.startsWith('/.well') }],
  [
    'a slow answer',
    {
      answer: (path, response) => {
        if (!path.startsWith('/.well')) return false
        response.writeHead(200, { 'content-type': 'application/json' })
        const timer = setInterval(() => response.write(' '), 50)
        response.on('close', () => clearInterval(timer))
        return true
      },
    },
  ],
]

describe('a sign-in with OpenID Connect', () => {
  test('a proof is of a user whom the provider asked recently', () =>
    withProvider(async (provider, node) => {
      const prove = async (auth_time: unknown) => {
        provider.fault.claims = claims => (auth_time === undefined ? claims : { ...claims, auth_time })
        const { url, secret } = await node.start(REDIRECT_URI, { isProof: true })
        expect(new URL(url).searchParams.get('max_age')).toBe('0')
        const { search } = await provider.signIn(url)
        return node.finish({ redirectUri: REDIRECT_URI, secret, answer: search, isProof: true })
      }
      expect((await prove(now() - 890)).subject).toBe('ada')
      // This provider does not say that it tells the time.
      expect((await prove(undefined)).subject).toBe('ada')
      for (const wrong of [now() - 960, now() + 960]) await expect(prove(wrong)).rejects.toMatchObject(REFUSED)
      provider.fault.claims = claims => ({ ...claims, auth_time: 1 })
      expect((await signIn(provider, node)).subject).toBe('ada')
    }))

  test('a proof needs the time from a provider that tells it', () =>
    withProvider(async (provider, node) => {
      provider.fault.metadata = metadata => ({ ...metadata, claims_supported: ['sub', 'auth_time'] })
      const { url, secret } = await node.start(REDIRECT_URI, { isProof: true })
      const { search: answer } = await provider.signIn(url)
      await expect(node.finish({ redirectUri: REDIRECT_URI, secret, answer, isProof: true })).rejects.toMatchObject(
        REFUSED,
      )
    }))

  test('yields issuer, subject, verified email and groups', () =>
    withProvider(async (provider, node) => {
      const { issuer } = provider
      const refreshToken = expect.stringMatching(/^refresh-/)
      const ada = { issuer, subject: 'ada', email: 'ada@example.org', name: 'Ada', groups: ['staff'], refreshToken }
      expect(await signIn(provider, node)).toEqual(ada)
      provider.user = { sub: 'ada', email: 'owner@example.org', email_verified: false, groups: 'staff' }
      expect(await signIn(provider, node)).toEqual({ ...ada, email: null, name: null, groups: [] })
      provider.user = { sub: 'ada', groups: ['staff', 7, '', 'a\0', '\ud800', { group: 'x' }, 'y'.repeat(256)] }
      expect((await signIn(provider, node)).groups).toEqual(['staff'])
      provider.user = { sub: 'ada', groups: Array.from({ length: 1_001 }, () => 'staff') }
      expect((await signIn(provider, node)).groups).toEqual([])
    }))

  test('sends a fresh challenge, state and nonce, and no secret', () =>
    withProvider(async (_, node) => {
      const started = await Promise.all([node.start(REDIRECT_URI), node.start(REDIRECT_URI)])
      const seen = started.flatMap(({ url, secret }) => {
        const { searchParams } = new URL(url)
        expect(searchParams.get('redirect_uri')).toBe(REDIRECT_URI)
        expect([searchParams.get('response_type'), searchParams.get('code_challenge_method')]).toEqual(['code', 'S256'])
        expect(url).not.toContain(secret)
        expect(url).not.toContain(encodeURIComponent(CLIENT_SECRET))
        return [secret, ...['state', 'nonce', 'code_challenge'].map(name => searchParams.get(name) ?? '')]
      })
      expect(new Set(seen.filter(text => text.length === 43)).size).toBe(8)
    }))

  test.each(refusals)('refuses %s', (_, fault) =>
    withProvider(async (provider, node) => {
      provider.fault = fault
      await expect(signIn(provider, node)).rejects.toMatchObject(REFUSED)
      expect(provider.requests).toContain('/token')
      provider.fault = {}
      // The metadata of a provider are asked for once, so the same node signs in again with its first ones.
      expect((await signIn(provider, node)).subject).toBe('ada')
    }),
  )

  test.each(outages)('is unavailable with %s, and then works again', (_, fault) =>
    withProvider(async (provider, node) => {
      provider.fault = fault
      await expect(signIn(provider, node)).rejects.toMatchObject(AWAY)
      provider.fault = {}
      expect((await signIn(provider, node)).subject).toBe('ada')
    }),
  )

  test('is unavailable if the provider ends before the tokens', () =>
    withProvider(async (provider, node) => {
      provider.fault = { answer: path => path === '/token' }
      await expect(signIn(provider, node)).rejects.toMatchObject(AWAY)
      const { url, secret } = await node.start(REDIRECT_URI)
      const { search } = await provider.signIn(url)
      await provider[Symbol.asyncDispose]()
      await expect(node.finish({ redirectUri: REDIRECT_URI, secret, answer: search })).rejects.toMatchObject(AWAY)
    }))

  test('is good for the tab that began it, and once', () =>
    withProvider(async (provider, node) => {
      const [own, other] = await Promise.all([node.start(REDIRECT_URI), node.start(REDIRECT_URI)])
      const [{ search }, { search: others }] = [await provider.signIn(own.url), await provider.signIn(other.url)]
      const finish = (secret: string, answer: string, redirectUri = REDIRECT_URI) =>
        node.finish({ redirectUri, secret, answer })
      const state = new URLSearchParams(search).get('state') ?? ''
      const mixed = new URLSearchParams(others)
      mixed.set('state', state)
      const attempts: [secret: string, answer: string, redirectUri?: string][] = [
        // The state, or the code, of another tab.
        [own.secret, others],
        [other.secret, search],
        [own.secret, mixed.toString()],
        [own.secret, search.replace(state, new URLSearchParams(others).get('state') ?? '')],
        // No PKCE, and guesses.
        ['', search],
        [randomBytes(32).toString('base64url'), search],
        ['x'.repeat(10_000), search],
        [own.secret, search, 'https://evil.example/console/'],
        [own.secret, search.replace(/iss=[^&]*/, 'iss=https%3A%2F%2Fevil.example')],
        [own.secret, search.replace(/&iss=[^&]*/, '')],
        [own.secret, `${search}&state=${state}`],
        [own.secret, `?error=access_denied&state=${state}`],
        [own.secret, `?state=${state}`],
        [own.secret, ''],
        [own.secret, `?code=${'x'.repeat(10_000)}&state=${state}`],
      ]
      for (const attempt of attempts) {
        await expect(finish(...attempt), JSON.stringify(attempt).slice(0, 300)).rejects.toMatchObject(REFUSED)
      }
      const fresh = await node.start(REDIRECT_URI)
      const { search: answer } = await provider.signIn(fresh.url)
      expect((await finish(fresh.secret, answer)).subject).toBe('ada')
      await expect(finish(fresh.secret, answer)).rejects.toMatchObject(REFUSED)
    }))

  test('takes no plain HTTP beyond this machine', async () => {
    const node = new OidcProvider({ issuer: 'http://provider.example', clientId: CLIENT_ID, clientSecret: null })
    const cause = expect.objectContaining({ code: 'OAUTH_HTTP_REQUEST_FORBIDDEN' })
    await expect(node.start(REDIRECT_URI)).rejects.toMatchObject({ ...AWAY, cause })
  })

  test('sends the secret in the way that the provider takes', () =>
    withProvider(async (provider, node) => {
      provider.fault = {
        metadata: metadata => ({ ...metadata, token_endpoint_auth_methods_supported: ['client_secret_post'] }),
      }
      expect((await signIn(provider, node)).subject).toBe('ada')
    }))

  test('refuses a user of another tenant of the provider', async () => {
    const issuer = 'https://login.microsoftonline.com/common/v2.0'
    await using provider = await TestProvider.start()
    const away = provider.issuer
    const ask = globalThis.fetch
    const moved = (text: string): string => text.replaceAll(away, 'https://login.microsoftonline.com')
    provider.fault = {
      metadata: metadata => ({
        ...JSON.parse(moved(JSON.stringify(metadata))),
        issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0',
        authorization_response_iss_parameter_supported: false,
      }),
      claims: claims => ({ ...claims, tid: 'evil', iss: 'https://login.microsoftonline.com/evil/v2.0' }),
    }
    vi.stubGlobal('fetch', (url: URL | string, options: RequestInit) =>
      ask(String(url).replace('/common/v2.0', '').replace('https://login.microsoftonline.com', away), options),
    )
    try {
      const node = new OidcProvider({ issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET })
      const { url, secret } = await node.start(REDIRECT_URI)
      const { searchParams } = await provider.signIn(url)
      searchParams.delete('iss')
      const input = { redirectUri: REDIRECT_URI, secret, answer: searchParams.toString() }
      await expect(node.finish(input)).rejects.toMatchObject(REFUSED)
      expect(provider.requests).toContain('/keys')
    } finally {
      vi.unstubAllGlobals()
    }
  })
})

function answersWith(path: string, status: number, body: object): Fault {
  const type = { 'content-type': 'application/json' }
  return {
    answer: (asked, response) => asked === path && !!response.writeHead(status, type).end(JSON.stringify(body)),
  }
}

describe('a refresh with OpenID Connect', () => {
  async function signedIn(provider: TestProvider, node: IdentityProvider) {
    const { issuer, subject, refreshToken } = await signIn(provider, node)
    return { issuer, subject, refreshToken: refreshToken ?? '' }
  }

  test('yields the groups of now and the next token', () =>
    withProvider(async (provider, node) => {
      const known = await signedIn(provider, node)
      provider.user = { ...provider.user, groups: ['other'] }
      const first = await node.refresh(known)
      expect(first).toMatchObject({ issuer: known.issuer, subject: 'ada', groups: ['other'] })
      expect(first.refreshToken).not.toBe(known.refreshToken)
      const second = await node.refresh({ ...known, refreshToken: first.refreshToken ?? '' })
      expect(second.groups).toEqual(['other'])
      await expect(node.refresh(known)).rejects.toMatchObject({ code: 'INVALID_API_KEY' })
    }))

  test('keeps a token that the provider does not replace', () =>
    withProvider(async (provider, node) => {
      const known = await signedIn(provider, node)
      provider.fault = { tokens: ({ refresh_token: _, ...tokens }) => tokens }
      expect((await node.refresh(known)).refreshToken).toBe(known.refreshToken)
    }))

  test('asks for the groups if the answer has no ID token', () =>
    withProvider(async (provider, node) => {
      const known = await signedIn(provider, node)
      provider.fault = { tokens: ({ id_token: _, ...tokens }) => tokens }
      expect(await node.refresh(known)).toMatchObject({ issuer: known.issuer, subject: 'ada', groups: ['staff'] })
    }))

  test('sends no token to another provider', () =>
    withProvider(async (provider, node) => {
      const known = await signedIn(provider, node)
      const { length } = provider.requests
      const refused = node.refresh({ ...known, issuer: 'https://former.example' })
      await expect(refused).rejects.toMatchObject({ code: 'INVALID_API_KEY' })
      expect(provider.requests.slice(length)).toEqual([])
    }))

  test('does not keep a giant token', () =>
    withProvider(async (provider, node) => {
      provider.fault = { tokens: tokens => ({ ...tokens, refresh_token: 'x'.repeat(100_000) }) }
      expect((await signIn(provider, node)).refreshToken).toBeNull()
    }))

  /** Answers that say nothing about the user. Each leaves the plan until it lapses. */
  const failures: readonly [what: string, fault: Fault][] = [
    ...refusals.filter(([what]) => !/nonce|error of the token/.test(what)),
    ['a refusal of the client', answersWith('/token', 401, { error: 'invalid_client' })],
    ['a refusal of the scope', answersWith('/token', 400, { error: 'invalid_scope' })],
    ['an error page', { answer: (path, response) => path === '/token' && !!response.writeHead(503).end('<html>') }],
    ['no answer', { answer: path => path === '/token' }],
    ['a huge answer', { tokens: tokens => ({ ...tokens, more: 'x'.repeat(300_000) }) }],
    [
      'the user information of another',
      {
        tokens: ({ id_token: _, ...tokens }) => tokens,
        ...answersWith('/userinfo', 200, { sub: 'eve', groups: ['staff'] }),
      },
    ],
  ]

  test.each(failures)('is unavailable with %s', (_, fault) =>
    withProvider(async (provider, node) => {
      const known = await signedIn(provider, node)
      provider.fault = fault
      const outcome = await node.refresh(known).catch(error => error)
      expect(outcome).toMatchObject(AWAY)
    }),
  )
})

describe('the adapter of OpenID Connect', () => {
  const config = { issuer: 'https://id.example.org', clientId: CLIENT_ID }

  test('names the field of an unreadable secret, and not the secret', async () => {
    const cases: [config: object, environment: Record<string, string>, message: RegExp][] = [
      [{ clientSecretFile: '/nowhere/secret' }, {}, /^oidc\.clientSecretFile \/nowhere\/secret cannot be read$/],
      [{ clientSecretEnv: 'SECRET' }, {}, /^oidc\.clientSecretEnv SECRET is empty$/],
      [{ clientSecretEnv: 'SECRET' }, { SECRET: 'two words' }, /^oidc\.clientSecretEnv SECRET must contain printable/],
    ]
    for (const [more, environment, message] of cases) {
      const failure = await oidc({ ...config, ...more }, environment).catch(error => error)
      expect(failure).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) })
      expect(failure.message).not.toContain('two words')
    }
  })
})
