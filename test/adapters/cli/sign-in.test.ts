import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { CheckResult } from '../../../adapters/cli/check-result.ts'
import { checkSignIn } from '../../../adapters/cli/doctor-sign-in.ts'
import { readServerSettings } from '../../../adapters/cli/settings.ts'
import { fixedPort } from '../../support/fixed-port.ts'
import { CLIENT_ID, CLIENT_SECRET, TestProvider } from '../../support/oidc-provider.ts'
import { runHoldfast, ServerProcess } from '../../support/server-process.ts'
import { withTempDir } from '../../support/temp-dir.ts'

const KEY = 'owner-0123456789abcdef0123456789abcdef'
const REDIRECT = 'https://pins.example.org/console/'

/** Writes a configuration, with the secret in a file beside it. */
function configured(directory: string, oidc: object, secret = `${CLIENT_SECRET}\n`): string[] {
  const path = join(directory, 'config.json')
  const fields = { clientId: CLIENT_ID, clientSecretFile: 'oidc-secret', redirectUri: REDIRECT, ...oidc }
  writeFileSync(path, JSON.stringify({ network: { enabled: false }, oidc: fields }))
  writeFileSync(join(directory, 'oidc-secret'), secret)
  return ['--config', path]
}

const statusOf = async (url: string, options: RequestInit = {}): Promise<number> => (await fetch(url, options)).status

describe('sign-in with a provider, in the server', () => {
  afterAll(() => ServerProcess.killAll())

  test('reads the secret beside its configuration, and shows it nowhere', () =>
    withTempDir(async directory => {
      await using provider = await TestProvider.start()
      const args = configured(directory, { issuer: provider.issuer })
      const env = { HOLDFAST_BOOTSTRAP_KEY: KEY, HOLDFAST_LOG_LEVEL: 'trace' }
      const server = await ServerProcess.start(join(directory, 'data'), args, env)
      expect(await (await fetch(`${server.url}/console/provider`)).text()).toContain(new URL(provider.issuer).host)
      const post = async (path: string, json = {}) => {
        const headers = { 'content-type': 'application/json' }
        return fetch(`${server.api}${path}`, { method: 'POST', headers, body: JSON.stringify(json) })
      }
      const started = (await (await post('/auth/provider/start')).json()) as { url: string; secret: string }
      const { search: answer } = await provider.signIn(started.url)
      const signedIn = await post('/auth/provider/finish', { secret: started.secret, answer })
      expect([signedIn.status, provider.requests.includes('/token')]).toEqual([200, true])
      expect(await server.stop()).toBe(0)
      const shown = await runHoldfast(['serve', '--check-config', ...args])
      expect(JSON.parse(shown.stdout).config.oidc.clientSecretFile).toBe(join(directory, 'oidc-secret'))
      expect(server.stdout + server.stderr + shown.stdout).not.toContain(CLIENT_SECRET)
    }))

  test('takes the key and password of the owner without the provider', () =>
    withTempDir(async directory => {
      const dataDir = join(directory, 'data')
      const args = configured(directory, { issuer: `http://127.0.0.1:${await fixedPort()}` })
      const server = await ServerProcess.start(dataDir, args, { HOLDFAST_BOOTSTRAP_KEY: KEY })
      expect(await statusOf(`${server.api}/auth/provider/start`, { method: 'POST' })).toBe(503)
      expect(await statusOf(`${server.api}/users/me`, { headers: { 'x-api-key': KEY } })).toBe(200)
      const owner = ['--email', 'owner@localhost', '--data-dir', dataDir, ...args]
      const link = JSON.parse((await runHoldfast(['account', 'password-link', ...owner])).stdout).link as string
      const linked = await runHoldfast(['account', 'set-identity', '--subject', 'ada', ...owner])
      expect([linked.code, linked.stderr]).toEqual([1, expect.stringContaining('an owner signs in without a provider')])
      const body = JSON.stringify({ token: link.split('token=')[1], password: 'a password to remember' })
      const headers = { 'content-type': 'application/json' }
      expect(await statusOf(`${server.api}/auth/password`, { method: 'POST', headers, body })).toBe(200)
      const login = JSON.stringify({ email: 'owner@localhost', password: 'a password to remember' })
      expect(await statusOf(`${server.api}/auth/login`, { method: 'POST', headers, body: login })).toBe(200)
      expect(await server.stop()).toBe(0)
    }))

  test('refuses to start with an unreadable secret, and names the field', () =>
    withTempDir(async directory => {
      const args = configured(directory, { issuer: 'https://id.example.org' }, '')
      const { code, stderr } = await runHoldfast([
        'serve',
        '--port',
        '0',
        '--data-dir',
        join(directory, 'data'),
        ...args,
      ])
      expect([code, stderr]).toEqual([2, expect.stringContaining('oidc.clientSecretFile')])
    }))
})

describe('the sign-in provider, as doctor sees it', () => {
  const checked = (args: string[]): Promise<CheckResult[]> =>
    checkSignIn(readServerSettings({ config: args[1] ?? '' }, {}), {})

  test('answers, or is a fault with its reason', () =>
    withTempDir(async directory => {
      await using provider = await TestProvider.start()
      const args = configured(directory, { issuer: provider.issuer })
      expect(await checked(args)).toMatchObject([{ level: 'ok', text: `${provider.issuer} answers` }])
      provider.fault = { metadata: metadata => ({ ...metadata, issuer: 'https://other.example' }) }
      expect(await checked(args)).toMatchObject([{ level: 'fault', text: expect.stringContaining('issuer') }])
      await provider[Symbol.asyncDispose]()
      expect(await checked(args)).toMatchObject([
        { level: 'fault', text: expect.stringContaining('ECONNREFUSED'), remedy: expect.stringContaining('keys') },
      ])
      writeFileSync(join(directory, 'oidc-secret'), '')
      expect(await checked(args)).toMatchObject([{ level: 'fault', text: expect.stringContaining('clientSecretFile') }])
    }))

  test('is not checked without one', async () => {
    expect(await checkSignIn(readServerSettings({}, {}), {})).toEqual([])
  })
})
