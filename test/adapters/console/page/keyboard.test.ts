import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { inBrowser } from '../../../support/browser.ts'
import { expectGoodLooks } from '../../../support/looks.ts'
import { consoles, keep } from './opened.ts'

describe('the keyboard in the console', inBrowser, () => {
  const { signedIn } = consoles()
  const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent)
  /** Sends all keys without waiting for the page, which forgets a first key after a pause. */
  const press = async (page: Page, ...keys: string[]): Promise<void> => {
    await Promise.all(keys.map(key => page.keyboard.press(key)))
  }

  test('goes to views, rows and the search by shortcuts', () =>
    signedIn(async ({ page, server }) => {
      await keep(server, 'one', 'one.txt')
      await keep(server, 'two', 'two.txt')
      await press(page, 'g', 'k')
      await page.getByRole('heading', { name: 'API keys' }).waitFor()
      await press(page, 'g', 'c')
      await page.getByRole('link', { name: 'two.txt' }).waitFor()
      await press(page, 'j', 'j')
      expect(await focused(page)).toBe('one.txt')
      await press(page, 'k')
      expect(await focused(page)).toBe('two.txt')
      await press(page, '/')
      await page.keyboard.type('one?')
      expect(await page.getByLabel('Search').inputValue()).toBe('one?')
      await page.getByRole('heading', { name: 'Content' }).click()
      await press(page, 'u')
      await expect.poll(() => focused(page)).toBe('Choose files')
    }))

  test('begins at the content of a new view, before the next key', () =>
    signedIn(async ({ page }) => {
      await page.getByRole('button', { name: 'Choose files' }).focus()
      const inAccount = await page.evaluate(async () => {
        const changed = new Promise(resolve => addEventListener('hashchange', resolve, { once: true }))
        location.hash = '#/account'
        await changed
        return document.activeElement?.id
      })
      expect(inAccount).toBe('main')
    }))

  test('shows its shortcuts, and can turn them off', () =>
    signedIn(async ({ page }) => {
      await press(page, '?')
      const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
      await dialog.waitFor()
      await expectGoodLooks(page, 'shortcuts')
      await dialog.getByLabel('Use these keys in this tab').uncheck()
      await press(page, 'Escape')
      await press(page, 'g', 'k', '?')
      expect([await dialog.count(), await page.getByRole('heading', { name: 'API keys' }).count()]).toEqual([0, 0])
    }))

  test('shows programs for the scopes of a key', () =>
    signedIn(
      async ({ page, server }) => {
        await server.engine.keys.create(server.owner, { name: 'reader', scopes: ['files:read'] })
        await press(page, 'g', 'k')
        await page.getByRole('button', { name: 'Use reader in a program' }).press('Enter')
        await page.getByRole('button', { name: 'Python' }).press('Enter')
        const program = page.getByLabel('program', { exact: true })
        await expect.poll(() => program.textContent()).toContain('requests.get')
        await page.getByRole('button', { name: 'Copy program' }).press('Enter')
        await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toContain('requests.get')
        expect(await page.getByLabel('environment', { exact: true }).textContent()).toContain(
          `${server.origin}/api/v3'`,
        )
        await expectGoodLooks(page, 'snippets')
      },
      { browser: { permissions: ['clipboard-read', 'clipboard-write'] } },
    ))
})
