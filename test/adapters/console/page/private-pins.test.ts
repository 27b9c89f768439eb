import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { inBrowser } from '../../../support/browser.ts'
import { fillInKey } from '../../../support/console-server.ts'
import { expectGoodLooks } from '../../../support/looks.ts'
import { consoles, goTo, keep } from './opened.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe('private pins in the console', inBrowser, () => {
  const { signedIn } = consoles()
  const names = (page: Page) => page.locator('td.name > a').allTextContents()
  const menu = async (page: Page, name: string, item: string): Promise<void> => {
    await page.getByRole('button', { name: `Actions for ${name}` }).click()
    await page.getByRole('button', { name: item }).click()
  }

  test('are uploaded, marked, filtered, published and hidden', () =>
    signedIn(async ({ page, server }) => {
      await keep(server, 'open', 'open.txt')
      await page.reload()
      await fillInKey(page, server.key)
      // The card is folded, because the account has a pin.
      await page.getByRole('button', { name: 'Add', exact: true }).click()
      const add = page.getByRole('region', { name: 'Add files' })
      expect(await add.getByLabel('Readers').inputValue()).toBe('public')
      await add.getByLabel('Readers').selectOption('Only this account')
      const buffer = Buffer.from('closed')
      await page
        .getByLabel('Files', { exact: true })
        .setInputFiles([{ name: 'closed.txt', mimeType: 'text/plain', buffer }])
      const row = (name: string) => page.getByRole('row').filter({ hasText: name })
      await row('closed.txt').getByText('Private').waitFor()
      expect(await row('open.txt').getByText('Private').count()).toBe(0)
      await expectGoodLooks(page, 'private-list')
      await page.getByRole('search').getByLabel('Readers').selectOption('Only this account')
      await expect.poll(() => names(page)).toEqual(['closed.txt'])
      await menu(page, 'closed.txt', 'Make public…')
      await expectGoodLooks(page, 'make-public')
      await page.getByRole('button', { name: 'Make it public' }).click()
      await page.getByText('closed.txt is now public').waitFor()
      await page.getByText('No pins match these filters.').waitFor()
      await page.getByRole('search').getByLabel('Readers').selectOption('All')
      await page.getByRole('checkbox', { name: 'Select open.txt', exact: true }).click()
      await page.getByRole('button', { name: 'Readers…' }).click()
      await page.getByRole('dialog').getByLabel('Readers').selectOption('Only this account')
      await page.getByRole('button', { name: 'Set the readers of 1 pin' }).click()
      const { pins } = server.engine
      const visibilities = async () =>
        (await pins.list({ account: server.owner })).items.map(({ name, visibility }) => `${name} ${visibility}`)
      await expect.poll(visibilities).toEqual(['closed.txt public', 'open.txt private'])
    }))

  test('are the default of the account once it says so', () =>
    signedIn(async ({ page, server }) => {
      await goTo(page, 'account')
      await page.getByLabel('Readers of new content').selectOption('Only this account')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Profile saved').waitFor()
      expect((await server.engine.accounts.get(server.owner)).defaultVisibility).toBe('private')
      await goTo(page, 'content')
      const chosen = page.getByRole('region', { name: 'Add files' }).getByLabel('Readers')
      await expect.poll(() => chosen.inputValue()).toBe('private')
    }))

  test('are shown and saved by their account, though no gateway serves them', () =>
    signedIn(
      async ({ page, server }) => {
        const closed = { account: server.owner, visibility: 'private' } as const
        const { pins } = server.engine
        const text = await pins.upload(Buffer.from('a secret'), { ...closed, name: 'secret.txt' })
        await goTo(page, `pin/${text.record.cid}`)
        await expect.poll(() => page.locator('pre.preview').textContent()).toBe('a secret')
        expect(await page.getByRole('link', { name: 'Open', exact: true }).count()).toBe(0)
        await expectGoodLooks(page, 'private-pin')
        const saved = page.waitForEvent('download')
        await page.getByRole('button', { name: 'Download' }).click()
        expect((await saved).suggestedFilename()).toBe('secret.txt')
        const image = await pins.upload(PNG, { ...closed, name: 'dot.png' })
        await goTo(page, `pin/${image.record.cid}`)
        const width = () => page.locator('img.preview').evaluate(one => (one as HTMLImageElement).naturalWidth)
        await expect.poll(width).toBe(1)
        const markup = await pins.upload(Buffer.from('<script>alert(1)</script>'), { ...closed, name: 'a.html' })
        await goTo(page, `pin/${markup.record.cid}`)
        await page.getByText('No preview. Download it instead.').waitFor()
        const files = [{ kind: 'file', path: 'css/b.css', content: Buffer.from('a{}') }] as const
        const folder = await pins.uploadDirectory(files, { ...closed, name: 'site' })
        await goTo(page, `pin/${folder.record.cid}`)
        for (const [button, name] of [
          ['css/b.css', 'b.css'],
          ['Download (TAR)', 'site.tar'],
        ] as const) {
          const file = page.waitForEvent('download')
          await page.getByRole('button', { name: button }).click()
          expect((await file).suggestedFilename()).toBe(name)
        }
      },
      { hasGateway: true },
    ))
})
