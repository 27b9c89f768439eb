import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HoldfastClient } from '../../../adapters/client/index.ts'
import { inBrowser, launchBrowser } from '../../support/browser.ts'
import { fillInKey, signInByKey } from '../../support/console-server.ts'
import { fixedPort } from '../../support/fixed-port.ts'
import { ServerProcess, temporaryDirectory } from '../../support/server-process.ts'

const KEY = 'a-secret-of-thirty-two-characters-or-more'
const TABS = [0, 1, 2, 3]
const FILES = [0, 1, 2, 3]
const FILE_BYTES = 300_000
/** No upload ends at this speed during the test. */
const BYTES_PER_SECOND = 5_000

describe('uploads in four tabs', inBrowser, () => {
  const directory = temporaryDirectory()
  let browser: Browser
  let server: ServerProcess

  beforeAll(async () => {
    browser = await launchBrowser()
    server = await start(await fixedPort(1))
  }, inBrowser.timeout)
  afterAll(async () => {
    await browser?.close()
    await ServerProcess.killAll()
    directory.remove()
  })

  const start = (port: number) =>
    ServerProcess.start(directory.path, ['--port', `${port}`], { HOLDFAST_BOOTSTRAP_KEY: KEY }, 230_000)
  const bytesOf = (name: string) => Buffer.alloc(FILE_BYTES, `${name} `)

  test('survive sign-ins, sign-outs and the death of the server', async () => {
    const origin = server.url
    const client = new HoldfastClient({ base: origin, key: KEY })
    // Tabs of one profile share six connections, which slow uploads would fill.
    const newTab = async (): Promise<Page> => (await browser.newContext()).newPage()
    const tabs: Array<{ page: Page; throttle: (bytesPerSecond: number) => Promise<void> }> = []
    for (const _ of TABS) {
      const page = await newTab()
      await signInByKey(page, { origin, key: KEY })
      tabs.push({ page, throttle: await throttleOf(page) })
    }
    for (const [tab, { page, throttle }] of tabs.entries()) {
      await throttle(BYTES_PER_SECOND)
      const files = FILES.map(file => {
        const name = `tab ${tab} file ${file}`
        return { name, mimeType: 'text/plain', buffer: bytesOf(name) }
      })
      await page.getByLabel('Files', { exact: true }).setInputFiles(files)
    }
    const areOpen = async (): Promise<void> => {
      for (const { page } of tabs) await page.getByText('0 of 4 uploads done').waitFor()
    }
    await areOpen()
    // The sign-out of a fifth tab ends no other tab.
    const fifth = await newTab()
    await signInByKey(fifth, { origin, key: KEY })
    await fifth.getByRole('button', { name: 'Sign out' }).click()
    await fifth.getByRole('tab', { name: 'API key' }).waitFor()
    await areOpen()
    await client.keys.endConsoles()
    for (const { page } of tabs) {
      await page.goto(`${origin}/console/#/account/keys`)
      await page.getByText('Your session has ended. Sign in again.').waitFor()
      await fillInKey(page, KEY)
      await page.goto(`${origin}/console/#/content`)
    }
    await areOpen()
    server.signal('SIGKILL')
    await server.ended()
    for (const { page } of tabs) await page.getByRole('alert').getByText('Trying again…').first().waitFor()
    server = await start(Number(new URL(origin).port))
    for (const { page, throttle } of tabs) {
      await throttle(-1)
      await page.getByText('4 of 4 uploads done').waitFor({ timeout: 90_000 })
    }
    const { uploads } = await client.pins.page(1, { limit: 100 })
    const names = TABS.flatMap(tab => FILES.map(file => `tab ${tab} file ${file}`))
    expect([...new Set(uploads.map(({ name }) => name))].toSorted()).toEqual(names)
    for (const { cid, name, status } of uploads) {
      expect(status).toBe('pinned')
      const { stream } = await client.content.file(cid)
      expect(Buffer.from(await new Response(stream).arrayBuffer()).equals(bytesOf(name))).toBe(true)
    }
  })
})

/** Returns a function that limits how fast a page sends. */
async function throttleOf(page: Page): Promise<(bytesPerSecond: number) => Promise<void>> {
  const line = await page.context().newCDPSession(page)
  await line.send('Network.enable')
  return async uploadThroughput => {
    const conditions = { offline: false, latency: 20, downloadThroughput: -1, uploadThroughput }
    await line.send('Network.emulateNetworkConditions', conditions)
  }
}
