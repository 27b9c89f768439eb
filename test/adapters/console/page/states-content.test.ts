import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import type { Status } from '../../../../adapters/client/index.ts'
import { inBrowser } from '../../../support/browser.ts'
import { type ConsoleServer, fillInKey } from '../../../support/console-server.ts'
import { expectGoodLooks } from '../../../support/looks.ts'
import { choose, consoles, drop, goTo, keep, type Opened, refuseUploads } from './opened.ts'

const UNKNOWN = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
const LONG = `${'a-long-name-without-a-space'.repeat(6)}.txt`
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe('content in the console', inBrowser, () => {
  const { atDoor, signedIn } = consoles()
  const looksOf = (page: Page) => (name: string, isBusy?: boolean) => expectGoodLooks(page, `content-${name}`, isBusy)
  const dialog = (page: Page) => page.getByRole('dialog')

  test('looks good while it is empty, loads, and is out of reach', () =>
    atDoor(async ({ page, server }) => {
      const look = looksOf(page)
      const { release } = hold(server, '/users/me/uploads')
      await fillInKey(page, server.key)
      await page.getByRole('status').getByText('Loading…').waitFor()
      await look('loading', true)
      release()
      await page.getByText('No pins yet').waitFor()
      await look('empty')
      await page.getByText('Cluster and expiry').click()
      await look('details')
      await page.getByRole('button', { name: 'Pin by CID' }).click()
      await page.getByText('Cluster, expiry and providers').click()
      await page.getByLabel('CID', { exact: true }).fill('no CID')
      await page.getByRole('button', { name: 'Pin', exact: true }).click()
      await page.getByRole('alert').waitFor()
      await look('pin-by-cid')
      await page.keyboard.press('Escape')
      await page.getByLabel('From a URL').fill('http://127.0.0.1/secret')
      await page.getByRole('button', { name: 'Upload', exact: true }).click()
      await page.getByRole('alert').waitFor()
      await look('refused')
      server.answerWith((_, outgoing) => outgoing.writeHead(503).end())
      await page.getByLabel('Order').selectOption('oldest')
      await page.getByText('Trying again…').waitFor()
      await look('outage')
      server.answerWith()
      await page.getByText('Trying again…').waitFor({ state: 'detached' })
      await goTo(page, 'nowhere')
      await page.getByRole('heading', { name: 'Nothing here' }).waitFor()
      await look('nowhere')
    }))

  test('looks good with uploads in every state', () =>
    signedIn(async ({ page, server }) => {
      const look = looksOf(page)
      await drop(page, { 'notes.txt': 'a note', 'site/index.html': '<h1>home</h1>', 'empty/': '' })
      refuseUploads(server)
      await choose(page, LONG, 10)
      await page.getByRole('alert').getByText('The disk is full').waitFor()
      server.answerWith()
      const line = await page.context().newCDPSession(page)
      const slow = { offline: false, latency: 20, downloadThroughput: -1, uploadThroughput: 200_000 }
      await line.send('Network.enable')
      await line.send('Network.emulateNetworkConditions', slow)
      await choose(page, 'film.mp4', 20_000_000)
      await choose(page, 'left.bin', 5_000_000)
      await choose(page, 'right.bin', 5_000_000)
      await choose(page, 'waits.bin', 5_000_000)
      await page.getByRole('button', { name: 'Cancel left.bin' }).click()
      await expect.poll(() => page.locator('.uploads').textContent()).toMatch(/of 20 MB · \d.* [KM]?B\/s/)
      await look('uploads')
      await page.getByRole('button', { name: 'Cancel all' }).click()
    }))

  test('looks good with many pins, actions and dialogs', () =>
    signedIn(
      async ({ page, server }) => {
        const look = looksOf(page)
        await fill(server)
        await page.reload()
        await page.getByRole('row').nth(20).waitFor()
        await look('many')
        await page.getByLabel('Search').fill('nothing is called this')
        await page.getByText('No pins match these filters.').waitFor()
        await look('none-match')
        await page.getByLabel('Search').fill('')
        await page.getByRole('row').nth(20).waitFor()
        for (const name of ['pin 30', 'pin 29', 'pin 28']) await page.getByLabel(`Select ${name}`).check()
        await look('selected')
        await page.getByRole('button', { name: /^Select all \d+ pins that match/ }).click()
        await page.getByText(/^All \d+ matching/).waitFor()
        await look('selected-matching')
        for (const [button, name] of [
          ['Rename…', 'rename'],
          ['Set end…', 'end'],
          ['Move…', 'move'],
          ['Delete…', 'delete'],
        ] as const) {
          await page.getByRole('button', { name: button }).click()
          await dialog(page).waitFor()
          await look(`selected-${name}`)
          if (name === 'delete') break
          await page.keyboard.press('Escape')
        }
        await keep(server, 'another', 'another')
        const held = hold(server, '/api/v3/jobs')
        await dialog(page)
          .getByRole('button', { name: /^Delete/ })
          .click()
        held.release()
        await page.getByText(/pins deleted$/).waitFor()
        await look('deleted')
        await page.getByRole('button', { name: 'Undo' }).click()
        await page.getByText(/pins restored$/).waitFor()
        await look('restored')
        await page.getByRole('button', { name: /^Actions for pin 30/ }).click()
        await page.getByRole('button', { name: 'Copy CID' }).waitFor()
        await look('row-menu')
        await page.getByRole('button', { name: 'Rename', exact: true }).click()
        await dialog(page).waitFor()
        await look('row-rename')
        await page.keyboard.press('Escape')
        await page.getByRole('button', { name: /^Actions for pin 30/ }).click()
        await page.getByRole('button', { name: 'Delete', exact: true }).click()
        await dialog(page).waitFor()
        await look('row-delete')
        await dialog(page).getByRole('button', { name: 'Delete it' }).click()
        await page.getByText('pin 30 is deleted').waitFor()
        await look('row-deleted')
      },
      { hasGateway: true },
    ))

  test('looks good while a job runs, ends, and cannot be undone', () =>
    signedIn(async ({ page, server }) => {
      const look = looksOf(page)
      await fill(server)
      await page.reload()
      await fillInKey(page, server.key)
      await page.getByLabel('Select all on this page').check()
      let job = {}
      await page.route(/\/api\/v3\/jobs(\/[^/]+)?$/, async route => {
        const response = await route.fetch()
        const answer = (await response.json()) as { job?: object }
        const json = answer.job === undefined ? answer : { job: { ...answer.job, ...job } }
        await route.fulfill({ response, json })
      })
      job = { state: 'running', total: 1_000, done: 371, undoUntil: null }
      await page.getByRole('button', { name: 'Delete…' }).click()
      await dialog(page)
        .getByRole('button', { name: /^Delete/ })
        .click()
      await page.getByText('371 done').waitFor()
      await look('job-running')
      job = {
        ...{ state: 'done', total: 1_000, done: 997, failed: 3, undoUntil: new Date(Date.now() + 500_000) },
        failures: [{ id: 'x', code: 'NOT_FOUND' }],
      }
      await page.getByText('997 pins deleted').waitFor()
      await look('job-with-failures')
      await page.route('**/undo', route =>
        route.fulfill({ status: 403, json: { message: 'the plan has room for 400 MB only', code: 'QUOTA_EXCEEDED' } }),
      )
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByRole('alert').waitFor()
      await look('job-undo-refused')
    }))

  test('looks good as one pin of every kind', () =>
    signedIn(
      async ({ page, server }) => {
        const look = looksOf(page)
        const { folder, empty } = await fill(server)
        for (const [name, bytes] of [
          ['note.txt', Buffer.from('the text of a note')],
          ['pixel.png', PNG],
          ['page.html', Buffer.from('<!doctype html><title>page</title>')],
          [LONG, Buffer.from('a long name')],
        ] as const) {
          const { record } = await server.engine.pins.upload(bytes, { account: server.owner, name, meta: { a: 'b' } })
          await goTo(page, `pin/${record.cid}`)
          await page.getByRole('heading', { name: 'Preview' }).waitFor()
          await page.locator('.preview').or(page.getByText('No preview')).waitFor()
          await look(`pin-${name === LONG ? 'long' : name}`)
        }
        await page.getByRole('button', { name: 'Add a line' }).click()
        await page.getByLabel('Key 2').fill('camera')
        await look('pin-meta')
        await goTo(page, `pin/${folder}`)
        await page.getByRole('button', { name: 'css', exact: true }).click()
        await page.getByRole('link', { name: 'main.css' }).waitFor()
        await look('pin-folder')
        await page.getByRole('button', { name: 'Preview main.css' }).click()
        await page.frameLocator('dialog iframe').getByText('a{}').waitFor()
        await look('pin-preview')
        await page.keyboard.press('Escape')
        await server.engine.takedowns.add({ cid: empty, reason: 'A claim' })
        await goTo(page, `pin/${empty}`)
        await page.getByRole('alert').waitFor()
        await look('pin-taken-down')
        await goTo(page, `pin/${UNKNOWN}`)
        await page.getByRole('alert').waitFor()
        await look('pin-missing')
      },
      { hasGateway: true },
    ))

  test('looks good as a pin that waits, arrives or fails', () =>
    signedIn(async opened => {
      const { page, server } = opened
      const look = looksOf(page)
      const cid = await keep(server, 'moving', 'moving')
      for (const [name, state] of [
        ['queued', { status: 'queued', blocks: 0, bytes: 0, attempts: 0 }],
        ['pinning', { status: 'pinning', blocks: 7, bytes: 7_000_000, attempts: 2, lastError: 'nobody has it yet' }],
        ['failed', { status: 'failed', attempts: 9, reason: 'no provider was found within 24 hours' }],
      ] as const) {
        await showAs(opened, cid, state)
        await look(`pin-${name}`)
      }
      await page.unrouteAll({ behavior: 'wait' })
      const { release } = hold(server, '/status/')
      await goTo(page, 'content')
      await goTo(page, `pin/${cid}`)
      await page.getByText('Loading…').waitFor()
      await look('pin-loading', true)
      release()
      await page.getByRole('heading', { name: 'moving' }).waitFor()
    }))
})

/** Shows a pin as the server would describe it in another state. */
async function showAs({ page }: Opened, cid: string, state: Partial<Status>): Promise<void> {
  await page.unrouteAll({ behavior: 'wait' })
  await page.route('**/api/v3/status/**', async route => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), ...state } })
  })
  await goTo(page, 'content')
  await goTo(page, `pin/${cid}`)
  await page.getByRole('heading', { name: 'About it' }).waitFor()
}

/** Holds answers to requests for a path until the release. */
function hold(server: ConsoleServer, path: string): { release: () => void } {
  const held: Array<() => void> = []
  server.answerWith((incoming, outgoing) => {
    if (incoming.url?.includes(path) === true) held.push(() => server.node(incoming, outgoing))
    else server.node(incoming, outgoing)
  })
  return {
    release: () => {
      server.answerWith()
      for (const answer of held) answer()
    },
  }
}

/** Fills the account with pins of every kind. */
async function fill({ engine, owner }: ConsoleServer): Promise<{ folder: string; empty: string }> {
  const account = owner
  for (let i = 1; i <= 30; i++) {
    await engine.pins.upload(Buffer.alloc(i * 700, `pin ${i}`), { account, name: `pin ${i}` })
  }
  const { record: folder } = await engine.pins.uploadDirectory(files(), { account, name: 'site' })
  const { record: empty } = await engine.pins.upload(Buffer.from(''), { account, name: 'empty.txt' })
  await engine.pins.upload(Buffer.from('long'), { account, name: LONG, timelock: '2099-01-01T00:00:00Z' })
  await engine.pins.pin({ account, cid: folder.cid, cluster: 'cl1-eu' })
  return { folder: folder.cid, empty: empty.cid }
}

async function* files() {
  for (const path of ['index.html', 'css/main.css', 'images/a picture with a long name of several words.png']) {
    yield { kind: 'file' as const, path, content: Buffer.from('a{}') }
  }
}
