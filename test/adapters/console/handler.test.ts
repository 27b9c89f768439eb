import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { parseAst } from 'vite'
import { describe, expect, test } from 'vitest'
import { consoleOf } from '../../../adapters/console/console-handler.ts'
import { type ConsoleOptions, createConsole } from '../../../adapters/console/index.ts'
import { toFetch } from '../../../adapters/fetch/index.ts'
import { createServer } from '../../../adapters/node-http/index.ts'
import { askConsole, consoleRequest } from '../../support/console.ts'
import { withEngine } from '../../support/test-engine.ts'

describe('the console', () => {
  test('is a page whose plain modules import each other below it', async () => {
    const page = await askConsole(consoleRequest('/console/'))
    expect(page.status).toBe(200)
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
    const loaded = [...String(page.body).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => `/console/${path}`)
    expect(loaded.length).toBeGreaterThan(2)
    const seen = new Set<string>()
    for (let path = loaded.pop(); path !== undefined; path = loaded.pop()) {
      if (seen.has(path)) continue
      seen.add(path)
      const { status, headers, body } = await askConsole(consoleRequest(path))
      expect([path, status]).toEqual([path, 200])
      if (!path.endsWith('.js')) continue
      expect(headers['content-type']).toBe('text/javascript; charset=utf-8')
      expect(String(body)).not.toMatch(/^(import type|export type|interface) |^\s*\/\*\*/m)
      for (const [, name = ''] of String(body).matchAll(/(?<!["'])\bfrom ?["']([^"']+)["']/g)) {
        loaded.push(new URL(name, `http://node${path}`).pathname)
      }
    }
    expect([...seen]).toEqual(expect.arrayContaining(['/console/client/client.js', '/console/domain/errors.js']))
    expect([...seen].filter(path => !path.startsWith('/console/'))).toEqual([])
  })

  test('allows whole addresses in its policy, never its origin', async () => {
    const near = await policyAt({})
    expect(near).toContain('script-src http://127.0.0.1:4100/console/;')
    expect(near).toContain('connect-src http://127.0.0.1:4100/api/v3/ http://127.0.0.1:4100/admin/v1/ ')
    expect(near).toContain("frame-ancestors 'none'")
    expect(near).not.toMatch(/'self'|unsafe-|\*/)
    const proxied = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'pins.example' }
    expect(await policyAt(proxied, 1, { prefix: '/pinning/' })).toContain(
      'script-src https://pins.example/pinning/console/;',
    )
  })

  test('allows frames only of the gateway’s own origin, which it names', async () => {
    const none = await policyAt({})
    expect(none).not.toContain('frame-src')
    expect((await askConsole(consoleRequest('/console/gateway'))).status).toBe(404)
    const apart = createConsole({ trustedProxies: 0, signInProvider: null, documentsAt: () => 'http://127.0.0.1:4101' })
    const { headers } = await apart(consoleRequest('/console/'))
    expect(headers['content-security-policy']).toContain('; frame-src http://127.0.0.1:4101/ipfs/; ')
    expect(headers['content-security-policy']).toContain('/console/ http://127.0.0.1:4101/ipfs/; frame-src')
    expect((await apart(consoleRequest('/console/gateway'))).body).toBe('http://127.0.0.1:4101\n')
  })

  test('uses the path of its public URL behind a proxy only', async () => {
    const publicUrl = 'https://pins.example/storage/'
    const below = 'script-src https://pins.example/storage/console/;'
    const forwarded = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' }
    expect(await policyAt({ ...forwarded, host: 'pins.example' }, 1, { publicUrl })).toContain(below)
    const direct = await policyAt({}, 1, { publicUrl })
    expect(direct).toContain('script-src http://127.0.0.1:4100/console/;')
    expect(direct).toContain('connect-src http://127.0.0.1:4100/api/v3/ http://127.0.0.1:4100/admin/v1/ ')
    expect(direct).not.toContain('storage')
    expect(await policyAt({}, 0, { publicUrl, prefix: '/pins' })).toContain('4100/pins/console/;')
    // A proxy on the machine itself that sends no headers.
    const silent = await policyAt({ host: 'localhost:8080' }, 0, { publicUrl: 'http://localhost:8080/storage' })
    expect(silent).toContain('script-src http://localhost:8080/storage/console/;')
  })

  test('clears the cache for its page only, which asks for it', async () => {
    expect((await askConsole(consoleRequest('/console/cleared'))).headers['clear-site-data']).toBe('"cache"')
    for (const path of ['/console/', '/console/style.css']) {
      expect((await askConsole(consoleRequest(path))).headers).not.toHaveProperty('clear-site-data')
    }
  })

  test('isolates its window, sets no cookie and allows no other origin', async () => {
    for (const path of ['/console/', '/console/main.js', '/console/nothing']) {
      const { headers } = await askConsole(consoleRequest(path))
      expect(headers).toMatchObject({
        'cross-origin-resource-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
      })
      if (!path.endsWith('.js')) {
        expect(headers).toMatchObject({
          'cross-origin-opener-policy': 'same-origin',
          'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
        })
      }
      expect(Object.keys(headers).filter(name => /^set-cookie|^access-control|^service-worker/.test(name))).toEqual([])
    }
  })

  test('refuses to be a service worker', async () => {
    const asked = consoleRequest('/console/main.js', {}, { 'service-worker': 'script' })
    expect((await askConsole(asked)).status).toBe(403)
  })

  test.each([
    ['on loopback', 'http', { host: 'localhost:4100' }, 0, 200],
    ['on loopback by IPv6', 'http', { host: '[::1]:4100' }, 0, 200],
    ['by TLS', 'https', { host: 'pins.example' }, 0, 200],
    ['by plain HTTP from elsewhere', 'http', { host: '192.0.2.7:4100' }, 0, 403],
    ['by a name that begins like loopback', 'http', { host: '127.0.0.1.example' }, 0, 403],
    ['by a name that leads to loopback', 'http', { host: 'rebound.example' }, 0, 403],
    ['with a Host that is none', 'http', { host: "x'; script-src *" }, 0, 403],
    ['behind a proxy with TLS', 'http', { host: 'pins.example', 'x-forwarded-proto': 'https' }, 1, 200],
    ['behind a proxy without TLS', 'http', { host: 'pins.example', 'x-forwarded-proto': 'http' }, 1, 403],
    ['behind a proxy that does not tell', 'http', { host: 'localhost', 'x-forwarded-for': '192.0.2.1' }, 1, 403],
    ['behind a proxy nobody told of', 'http', { host: 'localhost', 'x-forwarded-proto': 'https' }, 0, 403],
  ] as const)('%s', async (_, scheme, headers, proxies, status) => {
    for (const path of ['/console/', '/console/main.js']) {
      const answer = await askConsole(consoleRequest(path, { scheme }, headers), proxies)
      expect(answer.status).toBe(status)
      if (status === 403) expect(answer.body).toMatch(/^The console [\s\S]+\S\n$/)
    }
  })

  test('explains a refusal', async () => {
    const plain = await askConsole(consoleRequest('/console/', {}, { host: '192.0.2.7' }))
    expect(plain.body).toMatch(/plain HTTP[\s\S]*TLS[\s\S]*ssh -L/)
    const unknown = await askConsole(consoleRequest('/console/', {}, { via: 'a proxy' }))
    expect(unknown.body).toMatch(/does not name[\s\S]*trustedProxies/)
  })

  test('is compressed on request, and cached', async () => {
    const ask = (headers: object) => askConsole(consoleRequest('/console/client/client.js', {}, headers))
    const [plain, gzipped] = [await ask({}), await ask({ 'accept-encoding': 'br, gzip' })]
    expect(plain.headers).not.toHaveProperty('content-encoding')
    expect(gzipped.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' })
    expect(gunzipSync(gzipped.body as Uint8Array)).toEqual(plain.body)
    expect((await ask({ 'accept-encoding': 'gzip;q=0' })).headers).not.toHaveProperty('content-encoding')
    const again = await ask({ 'if-none-match': `"other", ${plain.headers.etag}` })
    expect([again.status, again.body]).toEqual([304, null])
  })

  test('refuses other methods, and paths outside of it', async () => {
    expect((await askConsole(consoleRequest('/console/', { method: 'POST' }))).headers.allow).toBe('GET, HEAD')
    expect((await askConsole(consoleRequest('/console/', { method: 'HEAD' }))).body).toBeNull()
    for (const path of ['../handler.ts', '%2e%2e/handler.ts', 'tsconfig.json', 'index.html/', 'constructor']) {
      expect((await askConsole(consoleRequest(`/console/${path}`))).status).toBe(404)
    }
    const moved = await askConsole(consoleRequest('/console', { query: 'a=b' }))
    expect([moved.status, moved.headers.location]).toEqual([308, 'console/?a=b'])
  })
})

test('reports and logs files that cannot be prepared, and retries them', async () => {
  const failure = new Error('EACCES: /srv/page')
  let isBroken = true
  const lines: unknown[] = []
  const note = (fields: object, message: string): void => void lines.push([fields, message])
  const answer = consoleOf(
    async () => {
      if (isBroken) throw failure
      const bytes = Buffer.from('a page')
      return new Map([['', { type: 'text/html', plain: bytes, gzipped: bytes, etag: 'W/"1"' }]])
    },
    { trustedProxies: 0, signInProvider: null, documentsAt: () => null },
    { logger: { debug: note, info: note, warn: note, error: note } },
  )
  const failed = await answer(consoleRequest('/console/'))
  expect([failed.status, failed.body]).toEqual([500, 'the files of the console cannot be prepared: see the log\n'])
  expect(failed.headers).toMatchObject({
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  })
  expect(lines).toEqual([[{ err: failure }, 'the files of the console cannot be prepared']])
  isBroken = false
  expect((await answer(consoleRequest('/console/'))).status).toBe(200)
})

describe('mounted', () => {
  test('it answers below the prefix, but on no host name of content', () =>
    withEngine(
      async ({ engine }) => {
        const server = createServer(engine, { prefix: '/pins', console: createConsole(engine, { prefix: '/pins' }) })
        server.listen(0, '127.0.0.1')
        await once(server, 'listening')
        const { port } = server.address() as { port: number }
        const get = (path: string, headers = {}) => fetch(`http://127.0.0.1:${port}${path}`, { headers })
        try {
          const page = await get('/pins/console/')
          expect(page.headers.get('content-security-policy')).toContain(`http://127.0.0.1:${port}/pins/console/;`)
          expect(await page.text()).toContain('<!doctype html>')
          expect((await get('/console/')).status).toBe(404)
          expect(await (await get('/pins/')).text()).toContain('<a href="console/">')
        } finally {
          server.close()
          server.closeAllConnections()
        }
        const answer = toFetch(engine, { console: createConsole(engine) })
        const asked = (host: string) => answer(new Request(`https://${host}/console/`))
        expect(await (await asked('localhost')).text()).toContain('<!doctype html>')
        const page = await asked('bafkqaaa.ipfs.example.org')
        expect(page.headers.get('cross-origin-opener-policy')).toBeNull()
      },
      { console: true, gateway: { host: 'example.org' } },
    ))

  test('it is absent and unlinked if it is off', () =>
    withEngine(async ({ engine }) => {
      const answer = toFetch(engine)
      expect((await answer(new Request('http://localhost/console/'))).status).toBe(404)
      expect(await (await answer(new Request('http://localhost/'))).text()).not.toContain('console/')
    }))
})

test('no text of the page has a line like a comment', () => {
  const page = join(import.meta.dirname, '../../../adapters/console/page')
  const client = join(import.meta.dirname, '../../../adapters/client')
  const files = [page, client].flatMap(directory =>
    globSync('**/*.ts', { cwd: directory }).map(name => join(directory, name)),
  )
  const wrong = files.filter(file =>
    templatesOf(readFileSync(file, 'utf8')).some(text => /^\s*(\/\/|\/\*)/m.test(text.slice(1))),
  )
  expect([files.length > 60, wrong]).toEqual([true, []])
})

/** Returns the content security policy for these headers. */
async function policyAt(headers: object, proxies = 0, options: ConsoleOptions = {}): Promise<string> {
  const page = await askConsole(consoleRequest('/console/', {}, headers), proxies, options)
  return String(page.headers['content-security-policy'])
}

/** Returns the texts of the templates in a module. */
function templatesOf(source: string): string[] {
  const found: string[] = []
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) visit(one)
    else if (typeof value === 'object' && value !== null) {
      if ('type' in value && value.type === 'TemplateElement')
        found.push((value as unknown as { value: { raw: string } }).value.raw)
      for (const child of Object.values(value)) visit(child)
    }
  }
  visit(parseAst(source, { lang: 'ts' }))
  return found
}
