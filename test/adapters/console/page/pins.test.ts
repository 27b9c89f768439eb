import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { inBrowser } from '../../../support/browser.ts'
import { fillInKey } from '../../../support/console-server.ts'
import { consoles, goTo, keep } from './opened.ts'

describe('pins in the console', inBrowser, () => {
  const { atDoor, signedIn } = consoles()
  const names = (page: Page) => page.locator('td.name > a').allTextContents()
  const badge = (page: Page) => page.locator('.title .badge')

  test('are searched by name and CID, filtered and sorted', () =>
    signedIn(async ({ page, server }) => {
      const cid = await keep(server, 'one', 'first note.txt')
      await keep(server, 'two', 'second note.txt')
      await server.engine.pins.uploadDirectory(folder(), { account: server.owner, name: 'a folder' })
      await server.engine.pins.upload(Buffer.from('ends'), {
        account: server.owner,
        name: 'ends',
        timelock: '2099-01-01T00:00:00Z',
      })
      await page.reload()
      await fillInKey(page, server.key)
      await expect.poll(() => names(page)).toEqual(['ends', 'a folder', 'second note.txt', 'first note.txt'])
      await page.getByLabel('Search').fill('NOTE')
      await expect.poll(() => names(page)).toEqual(['second note.txt', 'first note.txt'])
      await page.getByLabel('Order').selectOption('oldest')
      await expect.poll(() => names(page)).toEqual(['first note.txt', 'second note.txt'])
      await page.getByLabel('Search').fill(cid)
      await expect.poll(() => names(page)).toEqual(['first note.txt'])
      await page.getByLabel('Search').fill('')
      await page.getByLabel('Kind').selectOption('Folders')
      await expect.poll(() => names(page)).toEqual(['a folder'])
      await page.getByLabel('Kind').selectOption('All')
      await page.getByLabel('Kept').selectOption('With an end')
      await expect.poll(() => names(page)).toEqual(['ends'])
      await page.getByLabel('State').selectOption('Failed')
      await page.getByText('No pins match these filters.').waitFor()
    }))

  test('are sorted by the headings of their columns, by keyboard', () =>
    signedIn(async ({ page, server }) => {
      for (const [content, name] of [
        ['12', 'Beta'],
        ['1234', 'gamma'],
        ['123', 'alpha'],
      ] as const) {
        await keep(server, content, name)
      }
      await page.reload()
      await fillInKey(page, server.key)
      await expect.poll(() => names(page)).toEqual(['alpha', 'gamma', 'Beta'])
      const sortedBy = () => page.locator('th[aria-sort="ascending"], th[aria-sort="descending"]').allTextContents()
      const press = (title: string) => page.getByRole('button', { name: title, exact: true }).press('Enter')
      await press('Name')
      await expect.poll(() => names(page)).toEqual(['alpha', 'Beta', 'gamma'])
      expect(await sortedBy()).toEqual(['Name'])
      await press('Name')
      await expect.poll(() => names(page)).toEqual(['gamma', 'Beta', 'alpha'])
      await press('Size')
      await expect.poll(() => names(page)).toEqual(['gamma', 'alpha', 'Beta'])
      expect(await page.getByLabel('Order').inputValue()).toBe('-size')
      await press('Added')
      await expect.poll(() => names(page)).toEqual(['alpha', 'gamma', 'Beta'])
      expect(await sortedBy()).toEqual(['Added'])
    }))

  test('are shown by the thousand, with a link to the last page', () =>
    signedIn(async ({ page, server }) => {
      await Promise.all(Array.from({ length: 1_001 }, (_, i) => keep(server, `row ${i}`, `row ${i}`)))
      await page.reload()
      await fillInKey(page, server.key)
      await expect.poll(() => page.locator('tbody tr').count()).toBe(25)
      await page.getByText('Page 1 of 41').waitFor()
      const asked: string[] = []
      page.on('request', request => request.url().includes('/uploads') && asked.push(request.url()))
      await page.getByRole('button', { name: 'Last' }).click()
      await expect.poll(() => names(page)).toHaveLength(1)
      expect(asked).toHaveLength(1)
      await page.getByRole('button', { name: 'Back' }).click()
      await page.getByText('Page 40 of 41').waitFor()
      await page.getByLabel('Rows').selectOption('1000')
      await expect.poll(() => page.locator('tbody tr').count()).toBe(1_000)
      await page.getByRole('button', { name: 'Next' }).click()
      await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
    }))

  test('have a page with details and content', () =>
    signedIn(
      async ({ page, server }) => {
        const { record } = await server.engine.pins.uploadDirectory(folder(), { account: server.owner, name: 'site' })
        const { cid } = record
        await server.engine.pins.pin({ account: server.owner, cid, cluster: 'cl1-eu' })
        const url = `${server.origin}/ipfs/${cid}`
        await goTo(page, `pin/${cid}?cluster=cl0-global`)
        await expect.poll(() => badge(page).textContent()).toBe('Pinned')
        const about = page.getByRole('region', { name: 'About it' })
        await expect.poll(() => about.textContent()).toContain('in 4 blocks')
        const kept = page.getByRole('region', { name: 'Clusters' }).getByRole('row')
        await expect.poll(() => kept.allTextContents()).toHaveLength(3)
        await page.getByRole('button', { name: 'Copy CID' }).click()
        const clipboard = () => page.evaluate(() => navigator.clipboard.readText())
        await expect.poll(clipboard).toBe(cid)
        await page.getByRole('button', { name: 'Copy Address' }).click()
        await expect.poll(clipboard).toBe(url)
        expect(await page.getByRole('link', { name: 'Open', exact: true }).getAttribute('href')).toBe(url)
        const file = page.getByRole('region', { name: 'Files' }).getByRole('link', { name: 'css/ä b.css' })
        const opened = page.waitForEvent('popup')
        await file.click()
        await expect.poll(async () => (await opened).locator('body').textContent()).toBe('a{}')
        // The new window has neither opener nor referrer.
        expect(await (await opened).evaluate(() => [opener, document.referrer])).toEqual([null, ''])
        for (const [name, ending] of [
          ['Download CAR', 'site.car'],
          ['Download (TAR)', 'site.tar'],
        ] as const) {
          const download = page.waitForEvent('download')
          await page.getByRole('link', { name }).click()
          expect((await download).suggestedFilename()).toBe(ending)
          await (await download).cancel()
        }
      },
      { browser: { permissions: ['clipboard-read', 'clipboard-write'] } },
    ))

  test('are renamed, given metadata, and extended', () =>
    signedIn(async ({ page, server }) => {
      const cid = await keep(server, 'kept', 'old name')
      await goTo(page, `pin/${cid}`)
      await page.getByRole('button', { name: 'Rename' }).click()
      await page.getByLabel('Name', { exact: true }).fill('new name')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'new name' }).waitFor()
      await page.getByRole('button', { name: 'Add a line' }).click()
      await page.getByLabel('Key 1').fill('album')
      await page.getByLabel('Value 1').fill('Summer')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Metadata saved').waitFor()
      await page.getByLabel('Keep it until').fill('2099-05-01T12:00')
      await page.getByRole('button', { name: 'Keep', exact: true }).click()
      await page.getByRole('cell', { name: /1 May 2099/ }).waitFor()
      const { items } = await server.engine.pins.list({ account: server.owner, cid })
      expect(items).toHaveLength(2)
      expect(items[1]).toMatchObject({ name: 'new name', meta: { album: 'Summer' }, expiresAt: null })
    }))

  test('are deleted at once, after a confirmation', () =>
    signedIn(async ({ page, server }) => {
      const total = async () => (await server.engine.pins.list({ account: server.owner })).total
      const dialog = page.getByRole('dialog')
      const cid = await keep(server, 'deleted', 'to be deleted')
      await keep(server, 'stays', 'stays')
      await server.engine.pins.pin({ account: server.owner, cid, cluster: 'cl1-eu', originalName: 'to be deleted' })
      await goTo(page, `pin/${cid}?cluster=cl1-eu`)
      await page.getByRole('button', { name: 'Delete from cl1-eu' }).click()
      await dialog.getByRole('button', { name: 'Keep it' }).click()
      expect(await total()).toBe(3)
      await page.getByRole('button', { name: 'Delete from cl1-eu' }).click()
      await dialog.getByRole('button', { name: 'Delete it' }).click()
      await page.getByText('to be deleted is deleted').waitFor()
      await expect.poll(total).toBe(2)
      await goTo(page, `pin/${cid}`)
      await page.getByRole('button', { name: 'Delete' }).click()
      await dialog.getByRole('button', { name: 'Delete it' }).click()
      await expect.poll(() => names(page)).toEqual(['stays'])
      await expect.poll(total).toBe(1)
      await page.getByText('1 pin deleted').last().waitFor()
      await page.getByRole('button', { name: 'Undo' }).first().click()
      await expect.poll(total).toBe(2)
    }))

  test('stay if the server refuses to delete them', () =>
    signedIn(async ({ page, server }) => {
      const cid = await keep(server, 'stays', 'stays')
      await goTo(page, `pin/${cid}`)
      await page.getByRole('button', { name: 'Delete' }).click()
      server.answerWith((_, outgoing) => outgoing.writeHead(503).end())
      await page.getByRole('button', { name: 'Delete it' }).click()
      await page.getByRole('dialog').getByRole('alert').waitFor()
      server.answerWith()
      await page.getByRole('button', { name: 'Delete it' }).click()
      await page.getByText('stays is deleted').waitFor()
    }))

  test('are listed again after an outage', () =>
    signedIn(async ({ page, server }) => {
      await goTo(page, 'account')
      await keep(server, 'first', 'first')
      await goTo(page, 'content')
      await expect.poll(() => names(page)).toEqual(['first'])
      server.answerWith((_, outgoing) => outgoing.writeHead(503).end())
      await page.getByLabel('Order').selectOption('oldest')
      await page.getByText('Trying again…').waitFor()
      expect(await names(page)).toEqual(['first'])
      await keep(server, 'second', 'second')
      server.answerWith()
      await expect.poll(() => names(page)).toEqual(['first', 'second'])
      await expect.poll(() => page.getByText('Trying again…').count()).toBe(0)
    }))

  test('are placeholders until a slow server answers', () =>
    atDoor(async ({ page, server }) => {
      const waiting: Array<() => void> = []
      let isHeld = true
      server.answerWith((incoming, outgoing) => {
        const answer = (): void => server.node(incoming, outgoing)
        if (isHeld && incoming.url?.includes('/users/me/uploads')) waiting.push(answer)
        else answer()
      })
      await fillInKey(page, server.key)
      await page.getByRole('status').getByText('Loading…').waitFor()
      expect(await page.getByText('No pins yet').count()).toBe(0)
      isHeld = false
      for (const answer of waiting) answer()
      await page.getByText('No pins yet').waitFor()
    }))

  test('are reported as missing if they do not exist', () =>
    signedIn(async ({ page }) => {
      await goTo(page, 'pin/bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy')
      await page.getByRole('alert').getByText('No pin for this cid').waitFor()
    }))
})

async function* folder() {
  yield { kind: 'file' as const, path: 'index.html', content: Buffer.from('<h1>home</h1>') }
  yield { kind: 'file' as const, path: 'css/ä b.css', content: Buffer.from('a{}') }
}
