import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { textOfBytes } from '../../../../src/domain/byte-text.ts'
import { accessibilityFaults } from '../../../support/axe.ts'
import { inBrowser } from '../../../support/browser.ts'
import type { ConsoleServer } from '../../../support/console-server.ts'
import { expectGoodLooks } from '../../../support/looks.ts'
import { consoles, goTo, keep } from './opened.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const ATTACK = '<script>parent.postMessage("escaped", "*"); top.location = "about:blank"</script>'

function isDrawn(image: Element): boolean {
  return image instanceof HTMLImageElement && image.complete && image.naturalWidth > 0
}

describe('contents in the console', inBrowser, () => {
  const { signedIn } = consoles()
  const frame = (page: Page) => page.locator('iframe.preview')
  const dialog = (page: Page) => page.getByRole('dialog')

  test('are previewed in a sandboxed frame of the gateway’s origin', () =>
    signedIn(
      async ({ page, server }) => {
        const text = await keep(server, 'the text of a note', 'note.txt')
        await goTo(page, `pin/${text}`)
        const body = page.frameLocator('iframe.preview').locator('body')
        await expect.poll(() => body.textContent()).toBe('the text of a note')
        expect(await frame(page).getAttribute('sandbox')).toBe('')
        const shown = new URL((await frame(page).getAttribute('src')) ?? '')
        expect(shown.origin).not.toBe(server.origin)
        await expectGoodLooks(page, 'preview-text')
        for (const [name, bytes, kind] of [
          ['pixel.png', PNG, 'image'],
          ['tone.wav', wav(), 'audio'],
          ['paper.pdf', pdf(), 'document'],
        ] as const) {
          const { record } = await server.engine.pins.upload(bytes, { account: server.owner, name })
          await goTo(page, `pin/${record.cid}`)
          const preview = page.locator('.preview')
          await expect.poll(() => preview.getAttribute('class')).toBe(`preview ${kind}`)
          if (kind === 'image') await expect.poll(() => preview.evaluate(isDrawn)).toBe(true)
          else expect(await preview.getAttribute('sandbox')).toBe(kind === 'document' ? null : '')
          await preview.scrollIntoViewIfNeeded()
          if (kind === 'audio') await expect.poll(() => playable(page)).toBe(true)
          await expectGoodLooks(page, `preview-${kind}`)
        }
      },
      { hasGateway: true },
    ))

  test('show a folder as a tree, which loads opened folders only', () =>
    signedIn(
      async ({ page, server }) => {
        const { record } = await server.engine.pins.uploadDirectory(folder(), { account: server.owner, name: 'site' })
        await goTo(page, `pin/${record.cid}`)
        const files = page.getByRole('region', { name: 'Files' })
        const names = () => files.locator('.tree > li .name, .tree > li .folder').allTextContents()
        await expect.poll(names).toEqual(['index.html', 'many'])
        const asked: string[] = []
        page.on('request', request => request.url().includes('format=json') && asked.push(request.url()))
        const many = files.getByRole('button', { name: 'many' })
        await many.focus()
        await page.keyboard.press('Enter')
        await files.getByRole('link', { name: 'file 499', exact: true }).waitFor()
        expect([(await names()).length, asked.length]).toEqual([502, 1])
        await files.getByRole('button', { name: 'Show more' }).press('Enter')
        await expect.poll(async () => (await names()).length).toBe(503)
        // The button is gone, so the first new entry has the focus.
        await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('note.txt')
        await page.keyboard.press('Tab')
        await page.keyboard.press('Enter')
        await expect
          .poll(() => page.frameLocator('dialog iframe').locator('body').textContent())
          .toBe('the text of a note')
        await expectGoodLooks(page, 'preview-dialog')
        await page.keyboard.press('Escape')
        await many.click()
        await expect.poll(names).toEqual(['index.html', 'many'])
        await expectGoodLooks(page, 'folder')
        // The same folder pinned by CID has no list of its files.
        await server.engine.pins.pin({ account: server.owner, cid: record.cid, cluster: 'cl1-eu' })
        await goTo(page, `pin/${record.cid}?cluster=cl1-eu`)
        await page.getByText('Pinned by CID').waitFor()
        await expect.poll(names).toEqual(['index.html', 'many'])
      },
      { hasGateway: true },
    ))

  test('show and open names that are not UTF-8', () =>
    signedIn(
      async ({ page, server }) => {
        const name = textOfBytes(Buffer.from('caf\xe9.txt', 'latin1'))
        const entries = [{ kind: 'file' as const, path: `d\u00e9/${name}`, content: [Buffer.from('a note')] }]
        const { record } = await server.engine.pins.uploadDirectory(entries, { account: server.owner, name })
        await goTo(page, 'account')
        await goTo(page, '')
        await page.getByRole('link', { name: 'caf%E9.txt', exact: true }).click()
        await page.getByRole('heading', { name: 'caf%E9.txt', exact: true }).waitFor()
        await page.getByRole('button', { name: 'd\u00e9', exact: true }).click()
        const link = page.locator('.tree .tree a.name')
        await expect.poll(() => link.textContent()).toBe('caf%E9.txt')
        expect(await (await fetch((await link.getAttribute('href')) ?? '')).text()).toBe('a note')
        await page.getByRole('button', { name: 'Preview caf%E9.txt' }).click()
        await expect.poll(() => page.frameLocator('dialog iframe').locator('body').textContent()).toBe('a note')
        await expectGoodLooks(page, 'preview-byte-name')
        expect(await page.locator('body').textContent()).not.toMatch(/[\uef00-\uefff]/)
        expect(record.name).toBe(name)
      },
      { hasGateway: true },
    ))

  test('show names without characters that reorder them', () =>
    signedIn(
      async ({ page, server }) => {
        const name = 'invoice\u202efdp.exe'
        const entries = [{ kind: 'file' as const, path: name, content: [Buffer.from('a program')] }]
        await server.engine.pins.uploadDirectory(entries, { account: server.owner, name })
        await goTo(page, 'account')
        await goTo(page, '')
        const shown = 'invoice\ufffdfdp.exe'
        await page.getByRole('link', { name: shown, exact: true }).click()
        await page.getByRole('heading', { name: shown, exact: true }).waitFor()
        const link = page.locator('.tree a.name')
        await expect.poll(() => link.textContent()).toBe(shown)
        expect(await (await fetch((await link.getAttribute('href')) ?? '')).text()).toBe('a program')
        expect(await page.locator('body').textContent()).not.toContain('\u202e')
      },
      { hasGateway: true },
    ))

  test('have actions in their row of the list', () =>
    signedIn(
      async ({ page, server }) => {
        const cid = await keep(server, 'the text of a note', 'note.txt')
        await goTo(page, 'account')
        await goTo(page, '')
        const opener = page.getByRole('button', { name: 'Actions for note.txt' })
        const clipboard = () => page.evaluate(() => navigator.clipboard.readText())
        const act = async (name: string): Promise<void> => {
          await opener.press('Enter')
          await page.getByRole('button', { name, exact: true }).press('Enter')
        }
        for (const [name, text] of [
          ['Copy CID', cid],
          ['Copy link', `${server.origin}/ipfs/${cid}`],
          ['Copy IPFS address', `ipfs://${cid}`],
          ['Copy ipfs command', `ipfs get ${cid}`],
        ] as const) {
          await act(name)
          await expect.poll(clipboard).toBe(text)
        }
        await opener.press('Enter')
        await page.getByRole('link', { name: 'Open' }).waitFor()
        await expectGoodLooks(page, 'row-menu')
        await page.keyboard.press('Escape')
        await expect.poll(() => opener.evaluate(button => button === document.activeElement)).toBe(true)
        await act('Preview')
        await dialog(page).locator('iframe').waitFor()
        const link = (await dialog(page).getByRole('link', { name: 'Open' }).getAttribute('href')) ?? ''
        await dialog(page).getByRole('button', { name: 'Copy link' }).click()
        await expect.poll(clipboard).toBe(link)
        const download = page.waitForEvent('download')
        await dialog(page).getByRole('link', { name: 'Download' }).click()
        expect((await download).suggestedFilename()).toBe('note.txt')
        await page.keyboard.press('Escape')
        await act('Rename')
        await dialog(page).getByLabel('Name').fill('new.txt')
        await page.keyboard.press('Enter')
        await page.getByRole('link', { name: 'new.txt' }).waitFor()
        await page.getByRole('button', { name: 'Actions for new.txt' }).press('Enter')
        await page.getByRole('button', { name: 'Delete', exact: true }).press('Enter')
        expect(await accessibilityFaults(page)).toEqual([])
        await dialog(page).getByRole('button', { name: 'Delete it' }).click()
        await page.getByText('No pins yet').waitFor()
        expect((await server.engine.pins.list({ account: server.owner })).total).toBe(0)
      },
      { hasGateway: true, browser: { permissions: ['clipboard-read', 'clipboard-write'] } },
    ))

  test('have no preview as pages, or without a gateway apart', async () => {
    const attack = async (server: ConsoleServer): Promise<string> => keep(server, ATTACK, 'page.html')
    await signedIn(
      async ({ page, server }) => {
        await goTo(page, `pin/${await attack(server)}`)
        await page.getByText('No preview for text/html.').waitFor()
        expect(await frame(page).count()).toBe(0)
        // A drawing may contain scripts, which no image runs.
        const svg = `<svg xmlns="http://www.w3.org/2000/svg">${ATTACK}</svg>`
        await page.evaluate(() =>
          addEventListener('message', ({ data }) => document.body.setAttribute('data-told', data)),
        )
        await goTo(page, `pin/${await keep(server, svg, 'drawing.svg')}`)
        const image = page.locator('img.preview')
        await image.waitFor()
        await expect.poll(() => image.evaluate(shown => shown instanceof HTMLImageElement && shown.complete)).toBe(true)
        expect(await frame(page).count()).toBe(0)
        expect(await page.locator('body[data-told="escaped"]').count()).toBe(0)
      },
      { hasGateway: true },
    )
    await signedIn(async ({ page, server }) => {
      await goTo(page, `pin/${await keep(server, 'shared', 'shared.txt')}`)
      await page.getByRole('heading', { name: 'Expiry' }).waitFor()
      expect(await page.getByRole('heading', { name: 'Preview' }).count()).toBe(0)
    })
  })
})

/** Returns whether the frame has loaded its video or audio. */
function playable(page: Page): Promise<boolean> {
  const [, shown] = page.frames()
  return shown?.evaluate(() => (document.querySelector('video')?.readyState ?? 0) > 0) ?? Promise.resolve(false)
}

async function* folder() {
  yield { kind: 'file' as const, path: 'index.html', content: Buffer.from('<h1>home</h1>') }
  for (let i = 0; i < 500; i++) {
    const path = `many/file ${String(i).padStart(3, '0')}`
    yield { kind: 'file' as const, path, content: Buffer.from(`${i}`) }
  }
  yield { kind: 'file' as const, path: 'many/note.txt', content: Buffer.from('the text of a note') }
}

/** Returns a tenth of a second of silence. */
function wav(): Buffer {
  const samples = Buffer.alloc(800, 128)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + samples.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8_000, 24)
  head.writeUInt32LE(8_000, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write('data', 36)
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}

function pdf(): Buffer {
  return Buffer.from(`%PDF-1.1
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj
4 0 obj<</Length 42>>stream
BT /F1 18 Tf 20 40 Td (A paper) Tj ET
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R>>
%%EOF
`)
}
