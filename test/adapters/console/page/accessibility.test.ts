import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { accessibilityFaults } from '../../../support/axe.ts'
import { inBrowser } from '../../../support/browser.ts'
import { consoles, keep } from './opened.ts'

/** Most compressed bytes of the whole page. */
const MOST_BYTES = 100_000

describe('the console', inBrowser, () => {
  const { atDoor, signedIn } = consoles()

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`passes axe-core, ${colorScheme}`, () =>
      atDoor(
        async ({ page, server }) => {
          const clean = async (place: string): Promise<void> =>
            expect([place, await accessibilityFaults(page)]).toEqual([place, []])
          await clean('key')
          await page.getByRole('tab', { name: 'Password' }).click()
          await clean('password')
          await page.getByRole('tab', { name: 'API key' }).click()
          await page.getByLabel('API key', { exact: true }).fill('hf_nothing')
          await page.getByRole('button', { name: 'Sign in' }).click()
          await page.getByRole('alert').waitFor()
          await clean('refused')
          const cid = await keep(server, 'a text', 'a text.txt')
          const { record } = await server.engine.pins.uploadDirectory(folder(), {
            account: server.owner,
            name: 'site',
          })
          await server.engine.pins.pin({
            account: server.owner,
            cid,
            cluster: 'cl1-eu',
            timelock: '2099-01-01T00:00:00Z',
          })
          await page.getByLabel('API key', { exact: true }).fill(server.key)
          await page.getByRole('button', { name: 'Sign in' }).click()
          await page.getByRole('row').nth(2).waitFor()
          await page
            .getByLabel('Files', { exact: true })
            .setInputFiles([{ name: 'x.txt', mimeType: 'text/plain', buffer: Buffer.from('x') }])
          await page.getByText('1 of 1 upload done').waitFor()
          await clean('content')
          for (const pinned of [cid, record.cid]) {
            await go(page, `pin/${pinned}`)
            await page.getByRole('region', { name: 'About it' }).waitFor()
            await clean(`pin ${pinned}`)
          }
          await page.getByRole('button', { name: 'Rename' }).click()
          await clean('rename')
          await page.keyboard.press('Escape')
          for (const section of ['overview', 'keys', 'upload-tokens', 'security', 'webhooks', 'nothing']) {
            await go(page, `account/${section}`)
            await page.waitForLoadState('networkidle')
            await clean(section)
          }
          for (const [section, button] of [
            ['keys', 'New key'],
            ['upload-tokens', 'New upload token'],
          ] as const) {
            await go(page, `account/${section}`)
            await page.getByRole('button', { name: button }).click()
            await page.getByRole('dialog').waitFor()
            await clean(button)
            await page.keyboard.press('Escape')
          }
          await go(page, 'nowhere')
          await page.getByRole('heading', { name: 'Nothing here' }).waitFor()
          await clean('nowhere')
        },
        { browser: { colorScheme, reducedMotion: 'reduce' } },
      ))
  }

  test('works by keyboard alone, from sign-in to a pin and back', () =>
    atDoor(async ({ page, server }) => {
      await keep(server, 'by keys', 'by keys.txt')
      const press = async (key: string, times = 1): Promise<void> => {
        for (let i = 0; i < times; i++) await page.keyboard.press(key)
      }
      const focused = (): Promise<string> => page.evaluate(() => document.activeElement?.textContent?.trim() ?? '')
      await press('Tab')
      await expect.poll(focused).toBe('API key')
      await press('ArrowRight')
      await expect.poll(focused).toBe('Password')
      await press('ArrowLeft')
      await expect.poll(focused).toBe('API key')
      await press('Tab')
      await page.keyboard.type(server.key)
      await press('Enter')
      await page.getByRole('row', { name: /by keys/ }).waitFor()
      const place = (): Promise<string> => page.evaluate(() => document.activeElement?.id ?? '')
      await expect.poll(place).toBe('main')
      for (let i = 0; i < 60 && (await focused()) !== 'by keys.txt'; i++) await press('Tab')
      await press('Enter')
      await page.getByRole('heading', { name: 'by keys.txt' }).waitFor()
      await expect.poll(place).toBe('main')
      for (let i = 0; i < 30 && (await focused()) !== 'Rename'; i++) await press('Tab')
      await press('Enter')
      await page.locator('dialog input:focus').waitFor()
      await press('End')
      await page.keyboard.type(' too')
      await press('Enter')
      await page.getByRole('heading', { name: 'by keys.txt too' }).waitFor()
      // A closed dialog returns the focus.
      await expect.poll(focused).toBe('Rename')
    }))

  test('fits a phone without horizontal scrolling', () =>
    signedIn(
      async ({ page, server }) => {
        const cid = await keep(server, 'wide', `${'a long name without a space '.replaceAll(' ', '_').repeat(6)}.txt`)
        for (const place of [
          'content',
          `pin/${cid}`,
          ...['overview', 'keys', 'security', 'webhooks'].map(one => `account/${one}`),
        ]) {
          await go(page, place)
          await page.waitForLoadState('networkidle')
          const [wide, shown] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
          expect([place, wide]).toEqual([place, shown])
        }
      },
      { browser: { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true } },
    ))

  test('shows its dialogs in the middle of the window', () =>
    signedIn(async ({ page }) => {
      for (const [place, button] of [
        ['account/keys', 'New key'],
        ['owner/accounts', 'New account'],
        ['owner', 'Free it now'],
      ] as const) {
        await go(page, place)
        await page.getByRole('button', { name: button }).click()
        const { top, bottom } = await page.getByRole('dialog').evaluate(shown => {
          const box = shown.getBoundingClientRect()
          return { top: box.top, bottom: innerHeight - box.bottom }
        })
        expect([place, Math.abs(top - bottom) <= 1]).toEqual([place, true])
        await page.keyboard.press('Escape')
      }
    }))

  test('weighs less than 100 KB on the wire', () =>
    atDoor(async ({ page }) => {
      const session = await page.context().newCDPSession(page)
      await session.send('Network.enable')
      await session.send('Network.setCacheDisabled', { cacheDisabled: true })
      let bytes = 0
      let answers = 0
      // Bodies only, because the server decides the headers.
      page.on('response', response => {
        bytes += Number(response.headers()['content-length'])
        answers++
      })
      await page.reload({ waitUntil: 'networkidle' })
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      expect(answers).toBeGreaterThan(2)
      expect(bytes).toBeLessThan(MOST_BYTES)
    }))
})

function go(page: Page, place: string): Promise<void> {
  return page.evaluate(to => {
    location.hash = `#/${to}`
  }, place)
}

async function* folder() {
  yield { kind: 'file' as const, path: 'index.html', content: Buffer.from('<h1>home</h1>') }
}
