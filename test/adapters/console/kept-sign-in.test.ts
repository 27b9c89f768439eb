import type { RequestListener } from 'node:http'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HoldfastClient } from '../../../adapters/client/index.ts'
import { type DirectoryEntry, type EngineOptions, SCOPES } from '../../../src/index.ts'
import { inBrowser, launchBrowser } from '../../support/browser.ts'
import {
  type ConsoleServer,
  fillInKey,
  signInByKey,
  signInByPassword,
  withConsole,
} from '../../support/console-server.ts'

const CID = 'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi'
/** Everything that a page of the console's origin can read. */
const STORED = 'JSON.stringify(sessionStorage) + JSON.stringify(localStorage) + document.cookie'
const PASSWORD = 'a password of the owner'

interface Visit {
  server: ConsoleServer
  context: BrowserContext
  page: Page
}

describe('a kept sign-in', inBrowser, () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await launchBrowser({ hasBackForwardCache: true })
  })
  afterAll(() => browser?.close())

  function visited(run: (visit: Visit) => Promise<void>, config: Partial<EngineOptions> = {}, hasPort = true) {
    return withConsole(
      async server => {
        const context = await browser.newContext()
        try {
          await run({ server, context, page: await context.newPage() })
        } finally {
          await context.close()
        }
      },
      config,
      hasPort,
    )
  }

  const stored = async (page: Page): Promise<string> => String(await page.evaluate(STORED))
  const tokenOf = async (page: Page): Promise<string> => (/hf_\w+/.exec(await stored(page)) ?? [''])[0]
  const signOut = (page: Page) => page.getByRole('button', { name: 'Sign out' })
  const atDoor = (page: Page) => page.getByRole('tab', { name: 'API key' }).waitFor()

  test('survives reloads of its tab, as a key of its own', () =>
    visited(async ({ server, context, page }) => {
      await signInByKey(page, server)
      expect(await stored(page)).toMatch(/hf_/)
      expect(await stored(page)).not.toContain(server.key)
      for (let i = 0; i < 2; i++) {
        await page.reload()
        await signOut(page).waitFor()
      }
      await page.goto(`${server.origin}/console/#/account/keys`)
      await page.getByText('signed in at the console').waitFor()
      const other = await context.newPage()
      await other.goto(`${server.origin}/console/`)
      await atDoor(other)
      const [token] = /hf_\w+/.exec(await stored(page)) ?? []
      await signOut(page).click()
      await atDoor(page)
      expect(await stored(page)).not.toContain('hf_')
      expect((await ask(server, token)).status).toBe(401)
      expect((await ask(server, server.key)).status).toBe(200)
      await page.reload()
      await atDoor(page)
    }))

  test('with a password is the session, which a sign-out ends', () =>
    visited(async ({ server, page }) => {
      await server.engine.accounts.setPassword(server.owner, PASSWORD)
      await signInByPassword(page, server, PASSWORD)
      expect(await stored(page)).not.toContain(PASSWORD)
      await page.reload()
      await signOut(page).waitFor()
      const [token] = /eyJ[\w.-]+/.exec(await stored(page)) ?? []
      expect((await ask(server, token)).status).toBe(200)
      await signOut(page).click()
      await atDoor(page)
      expect((await ask(server, token)).status).toBe(401)
      expect((await server.engine.keys.list(server.owner)).map(({ name }) => name)).toEqual(['owner'])
    }))

  test('keeps its own key while other tabs sign in and out', () =>
    visited(async ({ server, context, page }) => {
      await signInByKey(page, server)
      const other = await context.newPage()
      await signInByKey(other, server)
      const token = await tokenOf(other)
      expect(token).not.toBe(await tokenOf(page))
      expect((await ask(server, token)).status).toBe(200)
      await signOut(other).click()
      await atDoor(other)
      expect((await ask(server, token)).status).toBe(401)
      await page.reload()
      await signOut(page).waitFor()
      expect((await ask(server, await tokenOf(page))).status).toBe(200)
    }))

  test('ends everywhere on demand, in tabs that nobody reloads too', () =>
    visited(async ({ server, context, page }) => {
      await signInByKey(page, server)
      const other = await context.newPage()
      await signInByKey(other, server)
      await page.goto(`${server.origin}/console/#/account/security`)
      await page.getByRole('button', { name: 'End all sign-ins' }).click()
      await atDoor(page)
      expect(await stored(page)).not.toContain('hf_')
      await other.goto(`${server.origin}/console/#/account/keys`)
      await other.getByText('Your session has ended. Sign in again.').waitFor()
      expect(await stored(other)).not.toContain('hf_')
      expect((await ask(server, server.key)).status).toBe(200)
    }))

  test('with a password ends everywhere on demand', () =>
    visited(async ({ server, context, page }) => {
      await server.engine.accounts.setPassword(server.owner, PASSWORD)
      const other = await context.newPage()
      for (const each of [page, other]) await signInByPassword(each, server, PASSWORD)
      await page.goto(`${server.origin}/console/#/account/security`)
      await page.getByRole('button', { name: 'End all sign-ins' }).click()
      await atDoor(page)
      await other.reload()
      await atDoor(other)
    }))

  test('offers to end sixteen others', () =>
    visited(async ({ server, page }) => {
      const client = new HoldfastClient({ base: server.origin, key: server.key })
      const tokens: string[] = []
      while (tokens.length < 16) tokens.push((await client.keys.createForConsole()).token)
      const asked = async (): Promise<void> => {
        await page.goto(`${server.origin}/console/`)
        await page.getByRole('tab', { name: 'API key' }).click()
        await page.getByLabel('API key', { exact: true }).fill(server.key)
        await page.getByRole('button', { name: 'Sign in' }).click()
        await page.getByText('16 tabs are signed in with this key').waitFor()
      }
      await asked()
      await page.getByRole('button', { name: 'Only until a reload' }).click()
      await signOut(page).waitFor()
      expect(await stored(page)).toBe('{}{}')
      await page.reload()
      await asked()
      await page.getByRole('button', { name: 'End the others' }).click()
      await signOut(page).waitFor()
      for (const token of tokens) expect((await ask(server, token)).status).toBe(401)
      await page.reload()
      await signOut(page).waitFor()
    }))

  /** Chooses four files in each page. Ends all sign-ins while the files are on their way. */
  const endDuringUploads = async (server: ConsoleServer, pages: readonly Page[]): Promise<void> => {
    const held: (() => void)[] = []
    server.answerWith((incoming, outgoing) => {
      if (incoming.method === 'POST' && incoming.url?.startsWith('/api/v3/files') === true) {
        held.push(() => server.node(incoming, outgoing))
      } else server.node(incoming, outgoing)
    })
    for (const [i, page] of pages.entries()) {
      const files = [0, 1, 2, 3].map(n => {
        const name = `tab ${i} file ${n}`
        return { name, mimeType: 'text/plain', buffer: Buffer.from(name) }
      })
      await page.getByLabel('Files', { exact: true }).setInputFiles(files)
    }
    await expect.poll(() => held.length).toBeGreaterThan(2)
    await new HoldfastClient({ base: server.origin, key: server.key }).keys.endConsoles()
    server.answerWith()
    for (const answer of held) answer()
  }

  test('that ends gives no uploads to another user', () =>
    visited(async ({ server, page }) => {
      await signInByKey(page, server)
      await endDuringUploads(server, [page])
      await page.getByText('4 uploads will go on after your sign-in').waitFor()
      const other = await server.engine.accounts.create({ email: 'other@example.org', plan: 'free' })
      const { secret } = await server.engine.keys.create(other.id, { name: 'other', scopes: SCOPES })
      await fillInKey(page, secret)
      await page.getByText('No pins yet').waitFor()
      expect(await page.getByText('uploads done').count()).toBe(0)
      expect((await new HoldfastClient({ base: server.origin, key: secret }).pins.page(1)).total).toBe(0)
    }))

  test('that ends keeps the uploads, which go on after the next', () =>
    visited(async ({ server, context, page }) => {
      const pages = [page, await context.newPage(), await context.newPage(), await context.newPage()]
      for (const each of pages) await signInByKey(each, server)
      await endDuringUploads(server, pages)
      for (const each of pages) {
        await each.getByText('Your session has ended. Sign in again.').waitFor()
        await each.getByText('4 uploads will go on after your sign-in').waitFor()
      }
      for (const each of pages) await fillInKey(each, server.key)
      for (const each of pages) await each.getByText('4 of 4 uploads done').waitFor()
      const client = new HoldfastClient({ base: server.origin, key: server.key })
      const { uploads } = await client.pins.page(1, { limit: 100 })
      expect(new Set(uploads.map(({ name }) => name)).size).toBe(16)
    }))

  test('stores nothing where content shares the origin', () =>
    visited(
      async ({ server, page }) => {
        await signInByKey(page, server)
        expect(await stored(page)).toBe('{}{}')
        expect((await server.engine.keys.list(server.owner)).length).toBe(1)
        await page.reload()
        await atDoor(page)
      },
      {},
      false,
    ))

  test('stores nothing for a key that may create none', () =>
    visited(async ({ server, page }) => {
      const headers = { authorization: `Bearer ${server.key}` }
      const answer = await fetch(`${server.origin}/api/v3/tokens/console`, { method: 'POST', headers })
      const { token } = (await answer.json()) as { token: string }
      await signInByKey(page, { ...server, key: token })
      expect(await stored(page)).toBe('{}{}')
    }))

  test('stores nothing in a browser that does not clear its cache', () =>
    visited(async ({ server, page }) => {
      server.answerWith((incoming, outgoing) => {
        if (incoming.url === '/console/cleared') outgoing.end('kept')
        else server.node(incoming, outgoing)
      })
      await signInByKey(page, server)
      expect(await stored(page)).toBe('{}{}')
    }))

  test('is stored although the browser has cached an error for the icon', () =>
    visited(async ({ server, page }) => {
      server.answerWith((incoming, outgoing) => {
        if (incoming.url === '/console/icon.svg') outgoing.writeHead(503).end()
        else server.node(incoming, outgoing)
      })
      await page.goto(`${server.origin}/console/`)
      await page.getByRole('tab', { name: 'API key' }).waitFor()
      server.answerWith()
      await fillInKey(page, server.key)
      expect(await stored(page)).toMatch(/hf_/)
    }))

  test('is out of reach for content, in any form', () =>
    visited(async ({ server, context, page }) => {
      const steal = `document.title = (() => { try { return 'read ' + ${STORED} } catch (error) { return error.name } })()`
      const root = await hosted(server, {
        'page.html': `<!doctype html><title>page</title><script>${steal}</script>`,
        'drawing.svg': `<svg xmlns="http://www.w3.org/2000/svg"><title>drawing</title><script>${steal}</script></svg>`,
        'feed.xml': `<x xmlns="http://www.w3.org/1999/xhtml"><script>${steal}</script></x>`,
        'worker.js': 'addEventListener("fetch", event => event.respondWith(new Response("worker")))',
      })
      const content = `${server.origin}/ipfs/${root}`
      await signInByKey(page, server)
      const [token = ''] = /hf_\w+/.exec(await stored(page)) ?? []
      expect(token).not.toBe('')
      for (const name of ['page.html', 'drawing.svg', 'feed.xml', 'worker.js?filename=a.html']) {
        // The same tab has the storage of the console, if the page is on its origin.
        await page.goto(`${content}/${name}`).catch(() => null)
        expect(new URL(page.url()).origin, name).not.toBe(server.origin)
        expect(await page.title(), name).not.toContain(token)
        await page.goBack({ waitUntil: 'commit' }).catch(() => null)
        await page.goto(`${server.origin}/console/`)
        await signOut(page).waitFor()
      }
      const started = (make: string) =>
        page.evaluate(`new Promise(done => {
          try { const made = ${make}; made.onerror = () => done('refused'); made.onmessage = () => done('ran') }
          catch (error) { done(error.name) }
          setTimeout(() => done('silent'), 1000)
        })`)
      expect(await started(`new Worker('${content}/worker.js')`)).not.toBe('ran')
      expect(await started(`new SharedWorker('${content}/worker.js')`)).not.toBe('ran')
      const registered = `navigator.serviceWorker.register('${content}/worker.js').then(() => 'registered', error => error.name)`
      expect(await page.evaluate(registered)).not.toBe('registered')
      // A page of the API's origin without the policy of the console.
      const bare = await context.newPage()
      await bare.goto(`${server.origin}/health`)
      expect(await bare.evaluate(registered)).not.toBe('registered')
      for (const tag of ['iframe', 'embed', 'object']) {
        const framed = `new Promise(done => {
          const frame = document.createElement('${tag}')
          frame[${tag === 'object'} ? 'data' : 'src'] = '${content}/page.html'
          frame.onload = frame.onerror = () => setTimeout(() => {
            try { done(frame.contentDocument === null ? 'closed' : 'open ' + frame.contentDocument.title) } catch { done('closed') }
          }, 100)
          document.body.append(frame)
        })`
        expect(await bare.evaluate(framed), tag).toBe('closed')
        expect(
          bare
            .frames()
            .map(frame => new URL(frame.url()).origin)
            .slice(1),
          tag,
        ).not.toContain(server.origin)
      }
    }))

  test('is out of reach for cached pages of older versions', () =>
    visited(async ({ server, page }) => {
      const path = `/ipfs/${CID}/`
      const old = { [path]: '<!doctype html><title>old</title>', [`${path}two`]: '<!doctype html><title>old</title>' }
      serveOld(server, old)
      await page.goto(`${server.origin}${path}two`)
      await page.goto(server.origin + path)
      await page.evaluate('self.alive = true')
      server.answerWith()
      await page.goto(`${server.origin}/console/`)
      await fillInKey(page, server.key)
      const [token = ''] = /hf_\w+/.exec(await stored(page)) ?? []
      expect(token).not.toBe('')
      // Neither the cache of the browser nor the one of its history has the page any more.
      await page.goBack({ waitUntil: 'commit' }).catch(() => null)
      await page.waitForTimeout(500)
      expect(await page.title()).not.toBe('old')
      expect(String(await page.evaluate(`self.alive + ' ' + self.origin`))).not.toMatch(/^true|null$/)
      expect(await stored(page)).not.toContain(token)
      await page.goto(`${server.origin}${path}two`)
      expect([await page.title(), await stored(page)]).not.toEqual(['old', expect.stringContaining(token)])
    }))

  test('is out of reach for service workers of older versions', () =>
    visited(async ({ server, context, page }) => {
      const path = `/ipfs/${CID}/`
      const answer = `new Response('<title>worker</title>', { headers: { 'content-type': 'text/html' } })`
      serveOld(server, {
        [path]: '<!doctype html><title>old</title>',
        [`${path}sw.js`]: `addEventListener('fetch', event => event.respondWith(${answer}))`,
      })
      const open = await context.newPage()
      await open.goto(server.origin + path)
      const register = `navigator.serviceWorker.register('sw.js').then(() => navigator.serviceWorker.ready).then(() => 'ready', error => error.name)`
      expect(await open.evaluate(register)).toBe('ready')
      server.answerWith()
      await page.goto(`${server.origin}${path}any`)
      // The danger is real.
      expect([await page.title(), await page.evaluate('self.origin')]).toEqual(['worker', server.origin])
      await signInByKey(page, server)
      expect(await stored(page)).toContain('hf_')
      // The open page of the older version cannot install its worker again.
      expect(await open.evaluate(register)).not.toBe('ready')
      await page.goto(`${server.origin}${path}any`).catch(() => null)
      expect(await page.title()).not.toBe('worker')
      expect(new URL(page.url()).origin).not.toBe(server.origin)
    }))
})

async function ask({ origin }: ConsoleServer, token: string | undefined): Promise<Response> {
  return fetch(`${origin}/api/v3/users/me`, { headers: { authorization: `Bearer ${token}` } })
}

/** Answers for pages as 0.1.0 did: for a year, and without a sandbox. */
function serveOld(server: ConsoleServer, pages: Readonly<Record<string, string>>): void {
  const listener: RequestListener = (incoming, outgoing) => {
    const body = pages[incoming.url ?? '']
    if (body === undefined) return outgoing.writeHead(404).end()
    outgoing.writeHead(200, {
      'content-type': incoming.url?.endsWith('.js') ? 'text/javascript' : 'text/html',
      'cache-control': 'public, max-age=29030400, immutable',
      etag: `"${CID}"`,
    })
    return outgoing.end(body)
  }
  server.answerWith(listener)
}

/** Uploads a folder. Returns its CID. */
async function hosted({ engine, owner }: ConsoleServer, files: Readonly<Record<string, string>>): Promise<string> {
  const entries = Object.entries(files).map(([path, text]): DirectoryEntry => ({ kind: 'file', path, content: text }))
  return (await engine.pins.uploadDirectory(entries, { account: owner })).record.cid
}
