import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { inBrowser } from '../../../support/browser.ts'
import { expectGoodLooks } from '../../../support/looks.ts'
import { withTempDir } from '../../../support/temp-dir.ts'
import { choose, consoles, drop, keep, refuseUploads } from './opened.ts'

describe('content in the console', inBrowser, () => {
  const { signedIn } = consoles()
  const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

  test('uploads the file at a URL, and says why it cannot', async () => {
    const remote = createServer((_, response) => response.end('a file of the web'))
    await once(remote.listen(0, '127.0.0.1'), 'listening')
    const { port } = remote.address() as AddressInfo
    const upload = async (page: Page): Promise<void> => {
      await page.getByLabel('From a URL').fill(`http://127.0.0.1:${port}/photo.txt`)
      await page.keyboard.press('Enter')
    }
    try {
      await signedIn(
        async ({ page }) => {
          await upload(page)
          await page.getByRole('heading', { name: 'photo.txt' }).waitFor()
        },
        { config: { uploads: { fromUrls: 'any' } } }, // feature: url-uploads
      )
      await signedIn(async ({ page }) => {
        await upload(page)
        await page.getByRole('alert').getByText('URL must not lead to a private address').waitFor()
        await expectGoodLooks(page, 'from-url-refused')
      })
    } finally {
      remote.close()
    }
  })

  test('uploads dropped files, and a folder with everything below it', () =>
    signedIn(async ({ page, server }) => {
      const files = {
        'notes.txt': 'a note',
        'site/index.html': '<h1>home</h1>',
        'site/css/ä b.css': 'a{}',
        'empty/': '',
      }
      // The notice disappears after a few seconds.
      await Promise.all([page.getByText('empty has no files in it').waitFor(), drop(page, files)])
      await page.getByRole('button', { name: 'Show uploads' }).click()
      await expect.poll(() => page.locator('.uploads .badge').allTextContents()).toEqual(['Pinned', 'Pinned'])
      await expect.poll(() => row(page, 'site').textContent()).toContain('Folder')
      const { items } = await server.engine.pins.list({ account: server.owner })
      expect(items.map(({ name, type }) => [name, type]).toSorted()).toEqual([
        ['notes.txt', 'file'],
        ['site', 'directory'],
      ])
      const [folder] = items.filter(({ name }) => name === 'site')
      const { files: kept } = await server.engine.pins.dag({ account: server.owner, cid: folder?.cid ?? '' })
      expect(kept.map(({ path }) => path).toSorted()).toEqual(['css/ä b.css', 'index.html'])
    }))

  test('ignores a file that is dropped outside of the target', () =>
    signedIn(async ({ page, server }) => {
      await page.getByRole('link', { name: 'Account' }).click()
      // A headless browser opens no dropped file, so the test checks whether the default was prevented.
      await page.evaluate(() =>
        addEventListener('drop', event => {
          document.body.dataset.prevented = String(event.defaultPrevented)
        }),
      )
      await drop(page, { 'notes.txt': 'a note' }, 'h1')
      await expect.poll(() => page.locator('body').getAttribute('data-prevented')).toBe('true')
      await page.getByRole('link', { name: 'Content', exact: true }).click()
      await page.getByText('No pins yet.').waitFor()
      expect((await server.engine.pins.list({ account: server.owner })).total).toBe(0)
    }))

  test('uploads chosen files and folders with cluster and expiry', () =>
    signedIn(async ({ page, server }) => {
      await page.getByText('Cluster and expiry').click()
      const add = page.getByRole('region', { name: 'Add files' })
      await add.getByLabel('Cluster').selectOption('cl1-eu')
      await add.getByLabel('Ends').fill('2099-05-01T12:00')
      const bytes = Buffer.from('chosen')
      await page.getByLabel('Files', { exact: true }).setInputFiles([
        { name: 'one.txt', mimeType: 'text/plain', buffer: bytes },
        { name: 'two.txt', mimeType: 'text/plain', buffer: Buffer.from('other') },
      ])
      await withTempDir(async directory => {
        await mkdir(join(directory, 'album/may'), { recursive: true })
        await writeFile(join(directory, 'album/may/one.txt'), 'one')
        await page.getByLabel('Folder', { exact: true }).setInputFiles(join(directory, 'album'))
        await page.getByText('3 of 3 uploads done').waitFor()
      })
      const { items } = await server.engine.pins.list({ account: server.owner })
      const local = await page.evaluate(() => new Date('2099-05-01T12:00').getTime())
      expect(items.map(({ name, clusterId, expiresAt }) => [name, clusterId, expiresAt]).toSorted()).toEqual([
        ['album', 'cl1-eu', local],
        ['one.txt', 'cl1-eu', local],
        ['two.txt', 'cl1-eu', local],
      ])
      const album = items.find(({ name }) => name === 'album')
      const { files } = await server.engine.pins.dag({ account: server.owner, cid: album?.cid ?? '' })
      expect(files.map(({ path }) => path)).toEqual(['may/one.txt'])
    }))

  test('shows the progress of a large file, cancels and retries it', () =>
    signedIn(async ({ page, server }) => {
      // A slow connection: the upload would take half a minute.
      const line = await page.context().newCDPSession(page)
      const at = (bytes: number) =>
        line.send('Network.emulateNetworkConditions', {
          ...{ offline: false, latency: 20, downloadThroughput: -1, uploadThroughput: bytes },
        })
      await line.send('Network.enable')
      await at(200_000)
      await choose(page, 'large.bin', 6_000_000)
      const bar = page.getByRole('progressbar', { name: 'Upload of large.bin' })
      await expect.poll(() => bar.evaluate(one => (one as HTMLProgressElement).value)).toBeGreaterThan(100_000)
      await expect.poll(() => page.locator('.uploads li').textContent()).toMatch(/of 6\.0 MB · \d.* [KM]B\/s, .* left/)
      await page.getByRole('button', { name: 'Cancel large.bin' }).click()
      await page.getByText('cancelled').waitFor()
      expect((await server.engine.pins.list({ account: server.owner })).total).toBe(0)
      await at(-1)
      await page.getByRole('button', { name: 'Retry large.bin' }).click()
      await page.getByText('1 of 1 upload done').waitFor()
      expect((await server.engine.pins.list({ account: server.owner })).total).toBe(1)
    }))

  test('shows why an upload was refused, and retries it', () =>
    signedIn(async ({ page, server }) => {
      refuseUploads(server)
      await choose(page, 'a.txt', 10)
      await page.getByRole('alert').getByText('The disk is full').waitFor()
      server.answerWith()
      await page.getByRole('button', { name: 'Retry a.txt' }).click()
      await page.getByText('1 of 1 upload done').waitFor()
    }))

  test('keeps uploading in other views, and asks before closing', () =>
    signedIn(async ({ page, server }) => {
      let answer = (): void => undefined
      const arrived = new Promise<void>(resolve => {
        server.answerWith((request, response) => {
          if (request.url?.endsWith('/files') !== true) return response.writeHead(404).end('{}')
          const body = '{"cid":"bafy","status":"pinned"}'
          answer = () => response.writeHead(201, { 'content-type': 'application/json' }).end(body)
          request.resume().on('end', resolve)
        })
      })
      await choose(page, 'a.txt', 10)
      await arrived
      server.answerWith()
      await page.getByRole('link', { name: 'Account' }).click()
      const asked = page.waitForEvent('dialog')
      void page.close({ runBeforeUnload: true })
      const dialog = await asked
      expect(dialog.type()).toBe('beforeunload')
      await dialog.dismiss()
      page.once('dialog', question => question.dismiss())
      await page.getByRole('button', { name: 'Sign out' }).click()
      answer()
      await page.getByRole('link', { name: 'Content', exact: true }).click()
      await page.getByText('1 of 1 upload done').waitFor()
    }))

  test('pins by CID with live status, and shows why a pin failed', () =>
    signedIn(async ({ page, server }) => {
      const cid = await keep(server, 'here already', 'here')
      await page.getByRole('button', { name: 'Pin by CID' }).click()
      await page.getByLabel('CID', { exact: true }).fill('not a CID')
      await page.getByRole('button', { name: 'Pin', exact: true }).click()
      await page.getByRole('alert').waitFor()
      await page.getByLabel('CID', { exact: true }).fill(`ipfs://${cid}/`)
      await page.getByLabel('Name', { exact: true }).fill('by its CID')
      await page.getByRole('button', { name: 'Pin', exact: true }).click()
      await page.getByRole('heading', { name: 'by its CID' }).waitFor()
      await page.locator('.title .badge', { hasText: 'Pinned' }).waitFor()
    }))

  test('shows and follows a pin in progress', () =>
    signedIn(async ({ page, server }) => {
      const cid = await keep(server, 'moving', 'moving')
      let state = {
        status: 'pinning',
        blocks: 7,
        bytes: 7_000_000,
        attempts: 2,
        lastError: 'nobody has it yet',
        reason: null,
      }
      await page.route('**/api/v3/status/**', async route => {
        const answer = await route.fetch()
        await route.fulfill({ response: answer, json: { ...(await answer.json()), ...state } })
      })
      await page.goto(`${server.origin}/console/#/pin/${cid}`)
      const status = page.getByRole('region', { name: 'About it' }).getByRole('status')
      await expect.poll(() => status.textContent()).toContain('7 blocks so far, 7.0 MB · attempt 2')
      await page
        .getByRole('alert')
        .getByText('Nobody has it yet')
        .or(page.getByText('nobody has it yet'))
        .first()
        .waitFor()
      state = { ...state, status: 'pinned', blocks: 9 }
      await page.locator('.title .badge', { hasText: 'Pinned' }).waitFor()
    }))
})
