import { once } from 'node:events'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createServer } from '../../adapters/node-http/index.ts'
import type { DirectoryEntry } from '../../src/index.ts'
import { inBrowser, launchBrowser } from '../support/browser.ts'
import { withEngine } from '../support/test-engine.ts'

/** Set `SCREENSHOTS` to an existing directory to look at the pages. */
const { SCREENSHOTS } = process.env

/** Tabs that each read a part of the wiki. */
const TABS = 4
const SHOWN = `[document.title, document.querySelector('h1').innerText, document.images[0].naturalWidth,
  document.links[0].href]`

interface OldPage {
  name: string
  encoding: string
  text: string
  /** Markup before the text, in ASCII. */
  head: string
}

const PAGES: readonly OldPage[] = [
  { name: 'ru.html', encoding: 'windows-1251', text: 'Привет, мир', head: '<meta charset="windows-1251">' },
  { name: 'about', encoding: 'windows-1251', text: 'О проекте', head: '<html><head>\n<meta charset=windows-1251>' },
  { name: 'index.php?id=5', encoding: 'koi8-r', text: 'Старая страница', head: contentType('koi8-r') },
  { name: 'ja.htm', encoding: 'shift_jis', text: '日本語のページ', head: contentType('Shift_JIS') },
  { name: 'nikki', encoding: 'euc-jp', text: '日記の目次', head: contentType('EUC-JP') },
  { name: 'zh.html', encoding: 'gbk', text: '欢迎光临', head: contentType('gb2312') },
  { name: 'home.asp', encoding: 'big5', text: '歡迎光臨', head: contentType('big5') },
  { name: 'ko.html', encoding: 'euc-kr', text: '안녕하세요', head: contentType('euc-kr') },
  { name: 'pl.html', encoding: 'iso-8859-2', text: 'Zażółć gęślą jaźń', head: contentType('iso-8859-2') },
  { name: 'README', encoding: 'windows-1252', text: 'Schöne Grüße aus Köln', head: '' },
  { name: 'new.html', encoding: 'utf-8', text: 'Ünïcödé ohne Angabe', head: '<p>' },
]

function contentType(charset: string): string {
  return `<HTML><HEAD><META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=${charset}"></HEAD><BODY BGCOLOR="#ffffff">`
}

/** Encodes text by the tables of the decoder, which has no counterpart for old encodings. */
function encode(text: string, encoding: string): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text)
  const decoder = new TextDecoder(encoding)
  const bytesOf = new Map<string, number[]>()
  const note = (bytes: number[]): void => {
    const char = decoder.decode(Uint8Array.from(bytes))
    if ([...char].length === 1 && char !== '\uFFFD' && !bytesOf.has(char)) bytesOf.set(char, bytes)
  }
  for (let first = 0; first < 256; first++) note([first])
  for (let first = 0x81; first < 255; first++) for (let second = 0x40; second < 255; second++) note([first, second])
  return Buffer.from(
    [...text].flatMap(char => {
      const bytes = bytesOf.get(char)
      if (bytes === undefined) throw new Error(`${encoding} has no ${char}`)
      return bytes
    }),
  )
}

describe('old pages in a browser', inBrowser, () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser?.close())

  /** Serves files on the origin of the API. Runs the work with a page and the URL of their folder. */
  function served(files: ReadonlyMap<string, Uint8Array>, work: (page: Page, base: string) => Promise<void>) {
    return withEngine(async ({ engine, account }) => {
      async function* entries(): AsyncGenerator<DirectoryEntry> {
        for (const [path, content] of files) yield { kind: 'file', path, content }
      }
      const { record } = await engine.pins.uploadDirectory(entries(), { account })
      const server = createServer(engine)
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      const context = await browser.newContext({ viewport: { width: 640, height: 240 } })
      try {
        await work(await context.newPage(), `http://127.0.0.1:${port}/ipfs/${record.cid}/`)
      } finally {
        await context.close()
        server.closeAllConnections()
        server.close()
      }
    })
  }

  async function shoot(page: Page, name: string): Promise<void> {
    if (SCREENSHOTS !== undefined) await page.screenshot({ path: join(SCREENSHOTS, `${name.replace(/\W/g, '-')}.png`) })
  }

  test('eleven pages in ten encodings read as they were written', () => {
    const files = new Map(
      PAGES.map(({ name, encoding, text, head }) => [name, Buffer.concat([Buffer.from(head), encode(text, encoding)])]),
    )
    return served(files, async (page, base) => {
      for (const { name, text, head } of PAGES) {
        await page.goto(base + encodeURIComponent(name))
        expect((await page.locator('body').innerText()).trim(), name).toBe(text)
        expect(await page.evaluate('document.contentType'), name).toBe(head === '' ? 'text/plain' : 'text/html')
        await shoot(page, name)
      }
    })
  }, 120_000)

  test('a mirrored wiki of 200 pages without endings can be read', () => {
    const names = Array.from({ length: 200 }, (_, index) =>
      index % 2 === 0 ? `wiki/Article_${index}` : `wiki/index.php?title=Article_${index}`,
    )
    const href = (name = ''): string => `../${name.split('/').map(encodeURIComponent).join('/')}`
    const files = new Map(
      names.map((name, index) => [
        name,
        Buffer.from(`<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN">
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>${index}</title></head><body><h1>Article ${index}</h1>
<p>See <a href="${href(names[(index + 1) % names.length])}">the next article</a>.</p>
<img alt="" src="../images/dot"/></body></html>`),
      ]),
    )
    files.set('images/dot', Buffer.from('R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64'))
    return served(files, async (page, base) => {
      const part = names.length / TABS
      const tabs = [page, ...(await Promise.all(Array.from({ length: TABS - 1 }, () => page.context().newPage())))]
      await Promise.all(
        tabs.map(async (tab, place) => {
          await tab.goto(base + names[place * part])
          for (let index = place * part; index < (place + 1) * part; index++) {
            const [title, heading, width, next = ''] = await tab.evaluate<[string, string, number, string]>(SHOWN)
            expect([title, heading, width]).toEqual([`${index}`, `Article ${index}`, 1])
            if (index % 50 === 0) await shoot(tab, `wiki ${index}`)
            await tab.goto(next)
          }
        }),
      )
    })
  }, 600_000)
})
