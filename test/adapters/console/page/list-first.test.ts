import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { inBrowser } from '../../../support/browser.ts'
import { type ConsoleServer, fillInKey } from '../../../support/console-server.ts'
import { expectGoodLooks } from '../../../support/looks.ts'
import { consoles, keep, refuseUploads } from './opened.ts'

describe('the list of pins', inBrowser, () => {
  const { signedIn } = consoles()
  const choose = (page: Page, names: readonly string[]) => {
    const files = names.map(name => ({ name, mimeType: 'text/plain', buffer: Buffer.from(name) }))
    return page.getByLabel('Files', { exact: true }).setInputFiles(files)
  }

  test('has its filters in one line at every width', () =>
    signedIn(async ({ page }) => {
      const tops = (fields: string) =>
        page
          .locator(fields)
          .evaluateAll(found => [...new Set(found.map(field => Math.round(field.getBoundingClientRect().top)))])
      for (const width of [1440, 1024]) {
        await page.setViewportSize({ width, height: 900 })
        await expect.poll(() => tops('.filters .field')).toHaveLength(1)
      }
      for (const width of [768, 390]) {
        await page.setViewportSize({ width, height: 900 })
        await expect.poll(() => tops('.choosing .field')).toHaveLength(1)
      }
    }))

  test('tells types by icons, and opens folders in place', () =>
    signedIn(async ({ page, server }) => {
      const { pins } = server.engine
      const whose = { account: server.owner }
      const files = [{ kind: 'file', path: 'css/b.css', content: Buffer.from('a{}') }] as const
      await pins.uploadDirectory(files, { ...whose, name: 'site' })
      await pins.uploadDirectory(files, { ...whose, name: 'closed', visibility: 'private' })
      await pins.pin({ ...whose, cid: await keep(server, 'a photo', 'photo.JPG'), cluster: 'cl1-eu' })
      await page.reload()
      await fillInKey(page, server.key)
      const icons = () =>
        page.locator('svg.type').evaluateAll(found => found.map(icon => icon.getAttribute('data-kind')))
      await expect.poll(icons).toEqual(['pin', 'image', 'directory', 'directory'])
      const inside = page.getByRole('region', { name: 'Files' })
      await page.getByRole('button', { name: 'Files of site' }).click()
      expect(await inside.getByRole('link', { name: 'css/b.css' }).getAttribute('href')).toMatch(/\/css\/b\.css$/)
      await expectGoodLooks(page, 'content-folder')
      // One folder is open at a time. Its own page shows the content of a private one.
      await page.getByRole('button', { name: 'Files of closed' }).click()
      await expect.poll(() => inside.getByRole('link').count()).toBe(0)
      await inside.getByRole('button', { name: 'css/b.css' }).click()
      await page.getByRole('heading', { name: 'closed' }).waitFor()
    }))

  test('folds several uploads into a bar, and unfolds failed ones', () =>
    signedIn(async ({ page, server }) => {
      const { release } = holdUploads(server)
      await choose(page, ['one.txt', 'two.txt', 'three.txt'])
      await page.getByRole('progressbar', { name: 'All uploads' }).waitFor()
      await page.getByText('0 of 3 uploads done').waitFor()
      expect(await page.locator('.uploads li').count()).toBe(0)
      await expectGoodLooks(page, 'content-uploads-bar')
      await page.getByRole('button', { name: 'Show uploads' }).click()
      expect(await page.locator('.uploads li').count()).toBe(3)
      await page.getByRole('button', { name: 'Hide uploads' }).click()
      release()
      await page.getByText('3 of 3 uploads done').waitFor()
      expect(await page.locator('.uploads li').count()).toBe(0)
      await page.getByRole('button', { name: 'Clear' }).click()
      refuseUploads(server)
      await choose(page, ['four.txt', 'five.txt'])
      await page.getByText('0 of 2 uploads done, 2 failed').waitFor()
      await page.getByRole('alert').getByText('The disk is full').first().waitFor()
    }))

  test('says before a pin by CID that no peer is connected', () =>
    signedIn(async ({ page }) => {
      const remark = page.getByRole('dialog').getByText('No peer is connected to this node')
      await page.getByRole('button', { name: 'Pin by CID' }).click()
      await remark.waitFor()
      await expectGoodLooks(page, 'content-no-peers')
      await page.keyboard.press('Escape')
      await page.route('**/api/v3/peers', route => route.fulfill({ json: { peers: [], count: 3 } }))
      const asked = page.waitForResponse('**/api/v3/peers')
      await page.getByRole('button', { name: 'Pin by CID' }).click()
      await asked
      await page.getByLabel('CID', { exact: true }).fill('bafkqaaa')
      expect(await remark.count()).toBe(0)
    }))
})

/** Holds the requests of uploads back. */
function holdUploads(server: ConsoleServer): { release(): void } {
  const held: Array<() => void> = []
  server.answerWith((incoming, outgoing) => {
    const answer = (): void => server.node(incoming, outgoing)
    if (incoming.method === 'POST' && incoming.url?.startsWith('/api/v3/files') === true) held.push(answer)
    else answer()
  })
  return {
    release() {
      server.answerWith()
      for (const answer of held) answer()
    },
  }
}
