import { once } from 'node:events'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createServer } from '../../adapters/node-http/index.ts'
import type { DirectoryEntry, Engine } from '../../src/index.ts'
import { inBrowser, launchBrowser } from '../support/browser.ts'
import { withEngine } from '../support/test-engine.ts'

const HOST = 'localhost'

interface Served {
  page: Page
  /** The gateway's URL, with a trailing slash. */
  base: string
  port: number
  /** Uploads files by path. Returns the root's CID. */
  pin(files: Record<string, string | Uint8Array>): Promise<string>
}

describe('the gateway in a browser', inBrowser, () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser?.close())

  function served(run: (served: Served) => Promise<void>): Promise<void> {
    return withEngine(
      async ({ engine, account }) => {
        const server = createServer(engine)
        server.listen(0, '127.0.0.1')
        await once(server, 'listening')
        const address = server.address()
        const port = typeof address === 'object' && address !== null ? address.port : 0
        const page = await browser.newPage()
        try {
          const pin = (files: Record<string, string | Uint8Array>) => upload(engine, account, files)
          await run({ page, port, base: `http://127.0.0.1:${port}/ipfs/`, pin })
        } finally {
          await page.close()
          server.closeAllConnections()
          server.close()
        }
      },
      { gateway: { host: HOST } },
    )
  }

  test(
    'opens folders and files with awkward names from a listing',
    () =>
      served(async ({ page, base, pin }) => {
        const awkward = ['100% sure?', '#1 & "more"', "it's <b>bold", 'ünïcödé 😀', 'a:b', '%20', 'javascript:alert(1)']
        const files = awkward.flatMap(name => [
          [`${name}/${name}.txt`, `inside ${name}`],
          [`${name}/other.txt`, 'other'],
        ])
        const cid = await pin(Object.fromEntries(files))
        const dialogs: string[] = []
        page.on('dialog', dialog => {
          dialogs.push(dialog.message())
          dialog.dismiss().catch(() => undefined)
        })
        for (const name of awkward) {
          await page.goto(`${base}${cid}`)
          expect(await page.locator('tbody tr').count()).toBe(awkward.length)
          await page.getByRole('link', { name: `${name}/`, exact: true }).click()
          await expect.poll(() => page.locator('h1').textContent()).toContain(name)
          await page.getByRole('link', { name: `${name}.txt`, exact: true }).click()
          await expect.poll(() => page.locator('body').textContent()).toBe(`inside ${name}`)
          await page.goBack()
          await page.getByRole('link', { name: '../', exact: true }).click()
          await expect.poll(() => new URL(page.url()).pathname).toBe(`/ipfs/${cid}/`)
        }
        await page.locator('.cid a').first().click()
        await expect.poll(() => new URL(page.url()).pathname).toMatch(/^\/ipfs\/bafy\w+\/$/)
        expect(dialogs).toEqual([])
      }),
    60_000,
  )

  test(
    'plays a video and seeks in a recording without reading its start',
    () =>
      served(async ({ page, base, pin }) => {
        await page.goto('about:blank')
        const video = Buffer.from(await page.evaluate<string>(recordVideo), 'base64')
        expect(video.length).toBeGreaterThan(1000)
        const cid = await pin({ 'index.html': '', 'film.webm': video, 'sound.wav': silence(24_000_000) })
        const answers: { status: number; range: string }[] = []
        page.on('response', async response => {
          if (!/film|sound/.test(response.url())) return
          answers.push({ status: response.status(), range: response.headers()['content-range'] ?? '' })
        })
        await page.goto(`${base}${cid}/`)
        expect(await page.evaluate(playFor, { url: `${base}${cid}/film.webm`, from: 0 })).toBeGreaterThan(0)
        expect(answers.map(({ status }) => status)).toContain(206)
        answers.length = 0
        expect(await page.evaluate(playFor, { url: `${base}${cid}/sound.wav`, from: 200 })).toBeGreaterThan(200)
        const starts = answers.map(({ range }) => Number(/^bytes (\d+)-/.exec(range)?.[1]))
        expect(Math.max(...starts)).toBeGreaterThan(10_000_000)
      }),
    60_000,
  )

  test(
    "runs scripts of pages on the API's origin without an origin",
    () =>
      served(async ({ page, base, pin }) => {
        const script = `
          const told = {}
          for (const [name, act] of Object.entries({
            storage: () => localStorage.setItem('k', 'v'),
            database: () => indexedDB.open('d'),
            cookie: () => { document.cookie = 'k=v' },
            worker: () => navigator.serviceWorker.register('app.js'),
          })) try { act(); told[name] = 'allowed' } catch (error) { told[name] = error.name }
          told.file = await fetch('data.json').then(answer => answer.text())
          told.origin = self.origin
          document.title = JSON.stringify(told)`
        const files = { 'app.js': script, 'data.json': '{"a":1}' }
        const cid = await pin({ ...files, 'index.html': '<!doctype html><script type="module" src="app.js"></script>' })
        await page.goto(`${base}${cid}/`)
        await page.waitForFunction('document.title !== ""')
        expect(JSON.parse(await page.title())).toEqual({
          ...{ storage: 'SecurityError', database: 'SecurityError', cookie: 'SecurityError' },
          ...{ worker: 'SecurityError', file: '{"a":1}', origin: 'null' },
        })
      }),
    60_000,
  )

  test(
    'shows a site on its own host name, with its rules',
    () =>
      served(async ({ page, base, port, pin }) => {
        const script = `document.title = 'ran'; localStorage.setItem('k', location.hostname)`
        const cid = await pin({
          'index.html': `<!doctype html><h1>home</h1><script src="/js/app.js"></script><a href="/old/page">old</a>`,
          'js/app.js': script,
          'new/page.html': '<!doctype html><h1>moved here</h1>',
          'lost.html': '<!doctype html><h1>lost</h1>',
          _redirects: '/old/* /new/:splat.html 302\n/* /lost.html 404\n',
        })
        await page.goto(`http://${HOST}:${port}/ipfs/${cid}`)
        expect(new URL(page.url()).host).toBe(`${cid}.ipfs.${HOST}:${port}`)
        expect(await page.title()).toBe('ran')
        await page.getByRole('link', { name: 'old' }).click()
        await expect.poll(() => page.locator('h1').textContent()).toBe('moved here')
        expect(new URL(page.url()).pathname).toBe('/new/page.html')
        const missing = await page.goto(`http://${cid}.ipfs.${HOST}:${port}/nothing/here`)
        expect(missing?.status()).toBe(404)
        expect(await page.locator('h1').textContent()).toBe('lost')
        // Another root has another storage.
        const other = await pin({ 'index.html': '<!doctype html><h1>other</h1>' })
        await page.goto(`http://${other}.ipfs.${HOST}:${port}/`)
        expect(await page.evaluate('localStorage.length')).toBe(0)
        await page.goto(`${base}${cid}/`)
        expect(await page.locator('h1').textContent()).toBe('home')
      }),
    60_000,
  )
})

async function upload(engine: Engine, account: string, files: Record<string, string | Uint8Array>): Promise<string> {
  async function* entries(): AsyncGenerator<DirectoryEntry> {
    for (const [path, content] of Object.entries(files)) yield { kind: 'file', path, content: Buffer.from(content) }
  }
  return (await engine.pins.uploadDirectory(entries(), { account })).record.cid
}

/** Inaudible sound of a low rate: many seconds in few bytes. */
function silence(bytes: number): Buffer {
  const header = Buffer.alloc(44)
  header.write('RIFF', 0)
  header.writeUInt32LE(36 + bytes, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(48_000, 24)
  header.writeUInt32LE(96_000, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36)
  header.writeUInt32LE(bytes, 40)
  return Buffer.concat([header, Buffer.alloc(bytes)])
}

/** Runs in the page. Records one second of a changing picture and returns it in base64. */
const recordVideo = `(async () => {
  const canvas = document.createElement('canvas')
  const context = canvas.getContext('2d')
  const recorder = new MediaRecorder(canvas.captureStream(30), { mimeType: 'video/webm' })
  const parts = []
  recorder.ondataavailable = event => parts.push(event.data)
  const stopped = new Promise(resolve => { recorder.onstop = resolve })
  recorder.start()
  for (let frame = 0; frame < 45; frame++) {
    context.fillStyle = 'hsl(' + frame * 8 + ' 100% 50%)'
    context.fillRect(0, 0, canvas.width, canvas.height)
    await new Promise(requestAnimationFrame)
  }
  recorder.stop()
  await stopped
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer())
  return btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(''))
})()`

/** Runs in the page. Plays briefly from a second of the video. Resolves with the position reached. */
function playFor({ url, from }: { url: string; from: number }): Promise<number> {
  // @ts-expect-error the page's own document, which this program does not know
  const media = document.createElement('video')
  media.muted = true
  media.src = url
  return new Promise((resolve, reject) => {
    media.onerror = () => reject(new Error(media.error?.message ?? 'cannot be played'))
    media.onloadedmetadata = () => {
      media.currentTime = from
      media.play().catch(reject)
    }
    media.ontimeupdate = () => {
      if (media.currentTime > from) resolve(media.currentTime)
    }
  })
}
