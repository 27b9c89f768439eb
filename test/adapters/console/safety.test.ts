import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createGatewayServer } from '../../../adapters/node-http/index.ts'
import type { DirectoryEntry, Engine } from '../../../src/index.ts'
import { inBrowser, launchBrowser } from '../../support/browser.ts'
import { type ConsoleServer, fillInKey, signInByKey, withConsole } from '../../support/console-server.ts'

const CID = 'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi'

/** Searches the page's origin for a credential. Runs in the page. */
const SEARCH = `(async () => {
  const found = [document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage), self.name]
  for (const { name } of await indexedDB.databases()) found.push(name)
  for (const name of await caches.keys()) {
    const cache = await caches.open(name)
    for (const request of await cache.keys()) found.push(await (await cache.match(request)).text())
  }
  return found.join(' ')
})()`

describe('beside hosted content the console', inBrowser, () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser?.close())

  /** Runs with a visitor that has its own cache and storage. */
  function visited(run: (server: ConsoleServer, context: BrowserContext) => Promise<void>): Promise<void> {
    return withConsole(async server => {
      const context = await browser.newContext()
      try {
        await run(server, context)
      } finally {
        await context.close()
      }
    })
  }

  test('hides its credential from its origin, and forgets it with the page', () =>
    visited(async (server, context) => {
      const page = await context.newPage()
      await signInByKey(page, server)
      expect(await page.evaluate(SEARCH)).not.toContain(server.key)
      expect(await context.cookies()).toEqual([])
      expect((await context.storageState({ indexedDB: true })).origins).toEqual([])
      await page.reload()
      await page.getByRole('tab', { name: 'API key' }).waitFor()
    }))

  test('hides its credential from unsandboxed pages of 0.1.0', () =>
    visited(async (server, context) => {
      const evil = await context.newPage()
      const path = `/ipfs/${CID}/`
      const served = serveOld(server, { [path]: '<!doctype html><title>old</title>' })
      await evil.goto(server.origin + path)
      server.answerWith()
      await evil.goto('about:blank')
      await evil.goto(server.origin + path)
      // The danger is real.
      expect([await evil.title(), await evil.evaluate('self.origin'), served.count]).toEqual(['old', server.origin, 1])
      await evil.evaluate(`localStorage.setItem('kept', 'here')`)
      await signInByKey(await context.newPage(), server)
      expect(await evil.evaluate(SEARCH)).not.toContain(server.key)
    }))

  test('gives its modules to no service worker of 0.1.0', () =>
    visited(async (server, context) => {
      const evil = await context.newPage()
      const path = `/ipfs/${CID}/`
      serveOld(server, {
        [path]: '<!doctype html><title>old</title>',
        [`${path}sw.js`]: `addEventListener('fetch', event => event.respondWith(new Response('worker')))`,
      })
      await evil.goto(server.origin + path)
      const register = (script: string, scope?: string) =>
        evil.evaluate(
          `navigator.serviceWorker.register('${script}', { type: 'module', ${scope ? `scope: '${scope}'` : ''} })
            .then(() => navigator.serviceWorker.ready.then(() => 'registered'), error => error.name)`,
        )
      expect(await register('sw.js')).toBe('registered')
      expect(await register('sw.js', '/console/')).toBe('SecurityError')
      server.answerWith()
      const lent = `navigator.serviceWorker.register('/console/domain/errors.js', { type: 'module' }).then(() => 'lent', error => error.name)`
      expect(await evil.evaluate(lent)).toBe('TypeError')
    }))

  test('runs no scripts of /ipfs/, and reads nothing else of its origin', () =>
    visited(async (server, context) => {
      const cid = await hosted(server, { 'evil.js': 'document.title = "evil"', 'evil.css': 'body { color: red }' })
      const page = await context.newPage()
      await signInByKey(page, server)
      const title = await page.title()
      const load = `import('/ipfs/${cid}/evil.js').then(() => 'ran', error => error.name)`
      expect(await page.evaluate(load)).toBe('TypeError')
      const read = (path: string) => page.evaluate(`fetch('${path}').then(() => 'read', error => error.name)`)
      expect(await read('/')).toBe('TypeError')
      // Private content is shown as data that the page has read.
      expect(await read(`/ipfs/${cid}/evil.js`)).toBe('read')
      const style = `new Promise(done => {
        const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: '/ipfs/${cid}/evil.css' })
        link.onload = () => done('styled')
        link.onerror = () => done('refused')
        document.head.append(link)
      })`
      expect(await page.evaluate(style)).toBe('refused')
      const markup = `(() => { try { document.body.innerHTML = '<b>'; return 'set' } catch (error) { return error.name } })()`
      expect(await page.evaluate(markup)).toBe('TypeError')
      expect(await page.title()).toBe(title)
    }))

  test('neither answers nor obeys a page on a gateway’s port', () =>
    visited(async (server, context) =>
      withGatewayPort(server.engine, async gateway => {
        const path = await hosted(server, { 'index.html': '<!doctype html><title>page</title>' })
        const page = await context.newPage()
        await signInByKey(page, server)
        const evil = await context.newPage()
        await evil.goto(`${gateway}/ipfs/${path}/`)
        const ask = (address: string, init = '{}') =>
          evil.evaluate(`fetch('${server.origin}${address}', ${init}).then(a => a.status, error => error.name)`)
        expect(await ask('/console/')).toBe('TypeError')
        // Requests with everything that the browser sends stay unauthorised.
        expect(await ask('/api/v3/users/me')).toBe(401)
        expect(await ask('/admin/v1/gc', `{ method: 'POST', mode: 'cors' }`)).toBe(401)
        expect(await ask('/api/v3/users/me', `{ credentials: 'include' }`)).toBe('TypeError')
        const loaded = `new Promise(done => {
          const script = Object.assign(document.createElement('script'), { type: 'text/javascript' })
          script.src = '${server.origin}/console/main.js'
          script.onload = () => done('lent')
          script.onerror = () => done('refused')
          document.head.append(script)
        })`
        expect(await evil.evaluate(loaded)).toBe('refused')
      }),
    ))

  test('cuts its link to a page of its origin that opened it', () =>
    visited(async (server, context) => {
      const evil = await oldPage(server, context)
      const opening = context.waitForEvent('page')
      await evil.evaluate(`self.opened = open('/console/', 'console'); 0`)
      const page = await opening
      await page.waitForLoadState()
      await fillInKey(page, server.key)
      const reach = `(() => { try { return self.opened.document.body.textContent } catch (error) { return error.name } })()`
      expect([await evil.evaluate('self.opened.closed'), await evil.evaluate(reach)]).toEqual([true, expect.anything()])
      expect(await evil.evaluate(reach)).not.toContain('Sign out')
      expect(await page.evaluate('self.opener')).toBeNull()
      // Opening it by name gives another window, or none.
      expect(await evil.evaluate(`open('', 'console')?.document.title ?? ''`)).not.toMatch(/Holdfast/)
    }))

  test('loads in no frame, not even of its own origin', () =>
    visited(async (server, context) => {
      const evil = await oldPage(server, context)
      const framed = `new Promise(done => {
        const frame = document.createElement('iframe')
        frame.src = '/console/'
        frame.onload = () => { try { done(frame.contentDocument?.title ?? 'closed') } catch (error) { done('closed') } }
        document.body.append(frame)
      })`
      expect(await evil.evaluate(framed)).toBe('closed')
      expect(evil.frames().flatMap(frame => (frame === evil.mainFrame() ? [] : frame.url()))).toEqual([
        'chrome-error://chromewebdata/',
      ])
    }))

  test('is refused by plain HTTP from other machines, with advice', () =>
    visited(async (server, context) => {
      const page = await context.newPage()
      const elsewhere = server.origin.replace('127.0.0.1', '0.0.0.0')
      const answer = await page.goto(`${elsewhere}/console/`)
      expect(answer?.status()).toBe(403)
      expect(await page.locator('body').innerText()).toMatch(/plain HTTP[\s\S]*ssh -L/)
    }))
})

/** Answers for pages as 0.1.0 did: for a year, and without a sandbox. Counts its answers. */
function serveOld(server: ConsoleServer, pages: Readonly<Record<string, string>>): { count: number } {
  const served = { count: 0 }
  const listener: RequestListener = (incoming, outgoing) => {
    const body = pages[incoming.url ?? '']
    if (body === undefined) return outgoing.writeHead(404).end()
    served.count += 1
    outgoing.writeHead(200, {
      'content-type': incoming.url?.endsWith('.js') ? 'text/javascript' : 'text/html',
      'cache-control': 'public, max-age=29030400, immutable',
      etag: `"${CID}"`,
    })
    return outgoing.end(body)
  }
  server.answerWith(listener)
  return served
}

/** Opens a page of 0.1.0 on the origin that is the console's now. */
async function oldPage(server: ConsoleServer, context: BrowserContext): Promise<Page> {
  const page = await context.newPage()
  const path = `/ipfs/${CID}/`
  serveOld(server, { [path]: '<!doctype html><title>old</title><body></body>' })
  await page.goto(server.origin + path)
  server.answerWith()
  expect(await page.evaluate('self.origin')).toBe(server.origin)
  return page
}

/** Uploads a folder. Returns its CID. */
async function hosted({ engine, owner }: ConsoleServer, files: Readonly<Record<string, string>>): Promise<string> {
  const entries = Object.entries(files).map(([path, text]): DirectoryEntry => ({ kind: 'file', path, content: text }))
  return (await engine.pins.uploadDirectory(entries, { account: owner })).record.cid
}

/** Runs with the gateway of the node on another port. */
async function withGatewayPort(engine: Engine, run: (origin: string) => Promise<void>): Promise<void> {
  const gateway = createGatewayServer(engine.ownGateway)
  gateway.listen(0, '127.0.0.1')
  await once(gateway, 'listening')
  try {
    await run(`http://127.0.0.1:${(gateway.address() as { port: number }).port}`)
  } finally {
    gateway.closeAllConnections()
    gateway.close()
  }
}
