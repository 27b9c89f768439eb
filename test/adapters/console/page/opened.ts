import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import type { EngineOptions } from '../../../../src/index.ts'
import { launchBrowser } from '../../../support/browser.ts'
import { type ConsoleServer, fillInKey, withConsole } from '../../../support/console-server.ts'
import { withTempDir } from '../../../support/temp-dir.ts'

/** A console in a browser, and its node. */
export interface Opened {
  page: Page
  server: ConsoleServer
}

export interface OpenOptions {
  config?: Partial<EngineOptions>
  browser?: BrowserContextOptions
  /** True for a gateway on a port of its own, from which the page shows content. */
  hasGateway?: boolean
}

type Run = (opened: Opened) => Promise<void>

/** Opens consoles in one browser for a suite. A test fails if the page throws or violates its policy. */
export function consoles(): { atDoor: typeof open; signedIn: typeof open } {
  let browser: Browser | undefined
  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser?.close())
  const open = (run: Run, options: OpenOptions = {}): Promise<void> =>
    withConsole(
      async server => {
        const context = await browser?.newContext({ locale: 'en-GB', ...options.browser })
        const page = await context?.newPage()
        if (context === undefined || page === undefined) throw new Error('the browser was not started')
        const wrong: string[] = []
        page.on('pageerror', error => wrong.push(error.message))
        page.on('console', message => {
          // Refusals are expected, of requests and of scripts in a sandbox.
          const isExpected = /^(Failed to load resource|Blocked script execution)/.test(message.text())
          if (message.type() === 'error' && !isExpected) wrong.push(message.text())
        })
        try {
          await page.goto(`${server.origin}/console/`)
          await run({ page, server })
          expect(wrong).toEqual([])
        } finally {
          // The page polls, and an answer may be on its way through a route of the test.
          await page.unrouteAll({ behavior: 'ignoreErrors' })
          await context.close()
        }
      },
      options.config,
      options.hasGateway,
    )
  const signedIn = (run: Run, options?: OpenOptions): Promise<void> =>
    open(async opened => {
      await fillInKey(opened.page, opened.server.key)
      await run(opened)
    }, options)
  return { atDoor: open, signedIn }
}

/** Drops files from a disk on the page; a path that ends in `/` is an empty folder. */
export function drop(page: Page, files: Readonly<Record<string, string>>, place = '.drop'): Promise<void> {
  return withTempDir(async directory => {
    for (const [path, content] of Object.entries(files)) {
      await mkdir(join(directory, path.endsWith('/') ? path : dirname(path)), { recursive: true })
      if (!path.endsWith('/')) await writeFile(join(directory, path), content)
    }
    const names = new Set(Object.keys(files).map(path => path.split('/')[0] ?? ''))
    const paths = [...names].map(name => join(directory, name))
    await page.evaluate(() => {
      document.body.removeAttribute('data-dropped')
      addEventListener('drop', () => document.body.setAttribute('data-dropped', ''), { capture: true, once: true })
    })
    const dropped = page.locator('body[data-dropped]')
    // The browser rejects a drop until it knows that the page accepts it, so drop again.
    await expect
      .poll(async () => {
        const { x, y, data, session } = await dragOver(page, paths, place)
        await session.send('Input.dispatchDragEvent', { type: 'drop', x, y, data })
        await session.detach()
        return await dropped.waitFor({ state: 'attached', timeout: 8_000 }).then(
          () => true,
          () => false,
        )
      })
      .toBe(true)
    if (place !== '.drop') return
    // The files are read during the upload.
    await page.getByRole('region', { name: 'Uploads' }).waitFor()
    await expect.poll(() => page.getByRole('button', { name: /^Cancel / }).count()).toBe(0)
  })
}

/** Drags files over an element. */
async function dragOver(page: Page, paths: readonly string[], place: string) {
  const box = await page.locator(place).boundingBox()
  if (box === null) throw new Error('there is no place to drop at')
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
  const data = { items: [], files: [...paths], dragOperationsMask: 1 }
  const session = await page.context().newCDPSession(page)
  await session.send('Input.dispatchDragEvent', { type: 'dragEnter', x, y, data })
  await session.send('Input.dispatchDragEvent', { type: 'dragOver', x, y, data })
  // A user waits for the highlight, too.
  if (place === '.drop') await page.locator('.drop.over').waitFor()
  return { x, y, data, session }
}

/** Chooses a file of so many bytes in the dialog. */
export async function choose(page: Page, name: string, bytes: number): Promise<void> {
  const buffer = Buffer.alloc(bytes, name)
  await page.getByLabel('Files', { exact: true }).setInputFiles({ name, mimeType: 'application/octet-stream', buffer })
}

/** Refuses each upload as a node whose disk is full. Lists, which the page also requests, are answered as before. */
export function refuseUploads(server: ConsoleServer): void {
  server.answerWith((request, response) => {
    if (request.method !== 'POST') return server.node(request, response)
    request.resume().on('end', () => {
      response.writeHead(507, { 'content-type': 'application/json' })
      response.end('{"error":"x","message":"the disk is full","code":"STORAGE_FULL"}')
    })
  })
}

/** Pins a text as the owner. Returns its CID. */
export async function keep({ engine, owner }: ConsoleServer, text: string, name: string): Promise<string> {
  const { record } = await engine.pins.upload(Buffer.from(text), { account: owner, name })
  return record.cid
}

/** Shows a view, such as `account/keys`. Resolves once the page has left the view before. */
export function goTo(page: Page, place: string): Promise<void> {
  return page.evaluate(async to => {
    const before = location.hash
    location.hash = `#/${to}`
    if (location.hash === before) return
    await new Promise(resolve => addEventListener('hashchange', resolve, { once: true }))
  }, place)
}

/** Watches for the set-up of a second factor, and returns its answer. The browser soon discards an answer that the page has read. */
export async function factorOf(page: Page): Promise<{ answer: Promise<{ secret: string; otpauthUrl: string }> }> {
  const { promise, resolve } = Promise.withResolvers<{ secret: string; otpauthUrl: string }>()
  await page.route('**/auth/2fa/setup', async route => {
    const response = await route.fetch()
    resolve(await response.json())
    await route.fulfill({ response })
  })
  return { answer: promise }
}
