import { open, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page, Route } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { HoldfastClient } from '../../../../adapters/client/index.ts'
import { createEngine, SCOPES } from '../../../../src/index.ts'
import { MemoryCluster } from '../../../clusters/memory-cluster.ts'
import { inBrowser } from '../../../support/browser.ts'
import { fillInKey, signInByKey } from '../../../support/console-server.ts'
import { expectGoodLooks } from '../../../support/looks.ts'
import { newDirectory } from '../../../support/new-database.ts'
import { withTempDir } from '../../../support/temp-dir.ts'
import { consoles, goTo, keep } from './opened.ts'

describe('the owner’s part of the console', inBrowser, () => {
  const { signedIn, atDoor } = consoles()
  const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })
  const figure = (page: Page, name: string) =>
    page.locator('.figure').filter({ has: page.getByText(name, { exact: true }) })

  test('shows statistics and activity of the node', () =>
    signedIn(async ({ page, server }) => {
      await keep(server, 'x'.repeat(5_000), 'five.txt')
      await page.getByRole('link', { name: 'Node' }).click()
      await expect.poll(() => figure(page, 'Stored').textContent()).toContain('5.0 KB')
      expect(await figure(page, 'Pins').textContent()).toContain('1 pinned')
      expect(await figure(page, 'Accounts').textContent()).toContain('1')
      expect(await figure(page, 'Free').locator('.value').textContent()).toMatch(/^[\d.]+ [KMGTP]B$/)
      expect(await figure(page, 'Peers').textContent()).toContain('0')
      const requests = page.getByRole('img', { name: /^Requests: \d+, 0 refused, 0 failed$/ })
      await requests.waitFor()
      // A line from the first sample to the last one, at the right end.
      const line = /^M([\d.]+ [\d.]+L)+600\.0 [\d.]+$/
      expect(await requests.locator('path.first').getAttribute('d')).toMatch(line)
      const plot = page.locator('.plot').first()
      const [top, middle, zero] = await plot.locator('.values span').allTextContents()
      expect([Number(top) / 2, zero]).toEqual([Number(middle), '0'])
      expect(await plot.locator('.axis span').allTextContents()).toEqual(['3 hours ago', '90 minutes ago', 'now'])
      await expectGoodLooks(page, 'node-overview')
      await page.getByRole('button', { name: '3 days' }).click()
      await expect.poll(() => plot.locator('.axis').textContent()).toBe('3 days ago36 hours agonow')
      expect(await requests.locator('path.first').getAttribute('d')).toMatch(line)
      await page.getByRole('img', { name: /^Traffic: [\d.]+ K?B out, / }).waitFor()
    }))

  test('shows the state of remote clusters', async () => {
    const far = new MemoryCluster()
    far.reportedPeers = [
      { peer: 'p1', freeBytes: 2_048, error: null },
      { peer: 'p2', freeBytes: 4_096, error: 'its disk is gone' },
    ]
    const away = new MemoryCluster()
    away.reportedPeers = null
    const clusters = ['near', 'far', 'away'].map(id => ({ id, label: '', region: '', country: null, gateways: [] }))
    const config = { clusters, defaultCluster: 'near', backends: { far, away } }
    await signedIn(
      async ({ page }) => {
        await page.getByRole('link', { name: 'Node' }).click()
        await expect.poll(() => figure(page, 'Remote cluster far').textContent()).toContain('2 peers, 1 unusable')
        expect(await figure(page, 'Remote cluster far').textContent()).toContain('0 waiting')
        expect(await figure(page, 'Remote cluster far').textContent()).toContain('2.0 KB free on the fullest')
        await expect.poll(() => figure(page, 'Remote cluster away').textContent()).toContain('down')
        expect(await figure(page, 'Remote cluster away').textContent()).toContain('nobody answers')
        await expect.poll(() => page.locator('.figure.bad').count()).toBe(2)
      },
      { config },
    )
  })

  test('warns of accounts that have used most of their plan', () =>
    signedIn(
      async ({ page, server: { engine } }) => {
        const account = await engine.accounts.create({ email: 'user@example.org', plan: 'five' })
        const fill = async (pins: number): Promise<void> => {
          while ((await engine.pins.list({ account: account.id })).total < pins) {
            await engine.pins.upload(Buffer.from(crypto.randomUUID()), { account: account.id })
          }
          await goTo(page, 'account')
          await goTo(page, 'owner/accounts')
        }
        const keeps = () => row(page, 'user@example.org').locator('.age').textContent()
        await fill(3)
        await expect.poll(keeps).toMatch(/3 pins\s*$/)
        await fill(4)
        await expect.poll(keeps).toContain('80 % of its plan')
        await fill(5)
        await expect.poll(keeps).toContain('plan is full')
        await expectGoodLooks(page, 'accounts-alert')
      },
      { config: { plans: { five: { maxPins: 5, timelock: false, clusters: '*' } } } },
    ))

  test('creates an account, changes its plan, disables, enables and deletes it', () =>
    signedIn(async ({ page, server: { engine } }) => {
      await goTo(page, 'owner/accounts')
      await page.getByRole('button', { name: 'New account' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Email').fill('owner@localhost')
      await dialog.getByLabel('Plan').selectOption('free')
      await dialog.getByRole('button', { name: 'Make the account' }).click()
      expect(await dialog.getByRole('alert').textContent()).toContain('in use by another account')
      await dialog.getByLabel('Email').fill('new@example.org')
      await dialog.getByLabel('Password').fill('a long enough password')
      await dialog.getByRole('button', { name: 'Make the account' }).click()
      const secret = (await dialog.locator('.secret').textContent()) ?? ''
      await dialog.getByRole('button', { name: 'Done' }).click()
      const account = await engine.accounts.find('new@example.org')
      const answer = await page.request.get(new URL('/api/v3/users/me', page.url()).href, {
        headers: { authorization: `Bearer ${secret}` },
      })
      expect((await answer.json()).id).toBe(account?.id)
      const state = async () => engine.accounts.get(account?.id ?? '')
      await page.getByLabel('Plan of new@example.org').selectOption('premium')
      await expect.poll(async () => (await state()).plan).toBe('premium')
      await page.getByRole('button', { name: 'Disable new@example.org' }).click()
      await dialog.getByRole('button', { name: 'Keep it' }).click()
      expect((await state()).disabled).toBe(false)
      await page.getByRole('button', { name: 'Disable new@example.org' }).click()
      await dialog.getByRole('button', { name: 'Disable it' }).click()
      await row(page, 'new@example.org').getByText('disabled', { exact: true }).waitFor()
      expect((await state()).disabled).toBe(true)
      await page.getByRole('button', { name: 'Enable new@example.org' }).click()
      await expect.poll(async () => (await state()).disabled).toBe(false)
      await page.getByRole('button', { name: 'Disable owner@localhost' }).click()
      await dialog.getByRole('button', { name: 'Disable it' }).click()
      expect(await dialog.getByRole('alert').textContent()).toContain('the last owner')
      await dialog.getByRole('button', { name: 'Keep it' }).click()
      await page.getByRole('button', { name: 'Delete new@example.org' }).click()
      await dialog.getByRole('button', { name: 'Keep it' }).click()
      expect(await engine.accounts.find('new@example.org')).toBeDefined()
      await page.getByRole('button', { name: 'Delete new@example.org' }).click()
      await dialog.getByRole('button', { name: 'Delete the account' }).click()
      await expect.poll(() => row(page, 'new@example.org').count()).toBe(0)
      expect(await engine.accounts.find('new@example.org')).toBeUndefined()
    }))

  test('makes a change of an account after the one before', () =>
    signedIn(async ({ page, server: { engine } }) => {
      const { id } = await engine.accounts.create({ email: 'user@example.org', plan: 'free' })
      await engine.accounts.setDisabled(id, true)
      await goTo(page, 'owner/accounts')
      const asked = Promise.withResolvers<Route>()
      await page.route('**/plan', asked.resolve)
      await page.getByLabel('Plan of user@example.org').selectOption('premium')
      const change = await asked.promise
      await page.getByRole('button', { name: 'Enable user@example.org' }).click()
      await change.continue()
      await row(page, 'user@example.org').getByText('disabled', { exact: true }).waitFor({ state: 'detached' })
      expect(await engine.accounts.get(id)).toMatchObject({ plan: 'premium', disabled: false })
    }))

  test('ends all sessions of an account, but not its keys', () =>
    signedIn(async ({ page, server: { engine, origin } }) => {
      const password = 'a long enough password'
      const user = await engine.accounts.create({ email: 'user@example.org', plan: 'free', password })
      const { secret } = await engine.keys.create(user.id, { name: 'kept', scopes: SCOPES })
      const { sessions } = new HoldfastClient({ base: origin })
      const signIn = await Promise.all([1, 2].map(() => sessions.signIn(user.email, password)))
      const clients = signIn.map(
        answer => new HoldfastClient({ base: origin, key: 'token' in answer ? answer.token : '' }),
      )
      expect((await clients[0]?.sessions.list())?.rows).toHaveLength(2)
      await goTo(page, 'owner/accounts')
      await page.getByRole('button', { name: 'End sessions of user@example.org' }).click()
      await page.getByText('All sessions of user@example.org have ended').waitFor()
      for (const client of clients)
        await expect(client.account.show()).rejects.toMatchObject({ code: 'INVALID_API_KEY' })
      expect(await new HoldfastClient({ base: origin, key: secret }).account.show()).toMatchObject({ id: user.id })
      await row(page, 'owner@localhost').waitFor()
    }))

  test('deletes unused blocks, and checks every block', () =>
    signedIn(async ({ page, server }) => {
      const { engine, owner } = server
      const cid = await keep(server, 'y'.repeat(2_000), 'let go.txt')
      await keep(server, 'kept', 'kept.txt')
      await engine.pins.remove({ account: owner, cid })
      await goTo(page, 'owner')
      await page.getByText('Waiting now: 1 deleted pin').waitFor()
      await page.getByRole('button', { name: 'Free it now' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Keep it' }).click()
      await page.getByText('Waiting now: 1 deleted pin').waitFor()
      await page.getByRole('button', { name: 'Free it now' }).click()
      await page.getByRole('button', { name: 'Delete them' }).click()
      await page.getByText('2.0 KB freed, 1 block').waitFor()
      await page.getByText('None now').waitFor()
      await page.getByRole('button', { name: 'Check all of it now' }).click()
      await page.getByText('1 block, 4 B checked').waitFor()
    }))

  test('shows progress and damage of a check, and cancels it', () =>
    signedIn(async ({ page, server }) => {
      // Larger than the blocks in the database.
      await keep(server, 'z'.repeat(300_000), 'whole.bin')
      const blocks = join(server.engine.dataDir, 'blocks')
      const file = (await readdir(blocks, { recursive: true })).find(name => name.endsWith('.data')) ?? ''
      const damaged = await open(join(blocks, file), 'r+')
      await damaged.write('damage', 0)
      await damaged.close()
      await goTo(page, 'owner')
      await page.getByRole('button', { name: 'Check all of it now' }).click()
      await page.getByText('1 block damaged').waitFor()
      // A check as slow as that of a large store.
      const held = Promise.withResolvers<void>()
      await page.route('**/admin/v1/verify', () => held.resolve())
      await page.getByRole('button', { name: 'Check all of it now' }).click()
      await held.promise
      await page.getByRole('progressbar', { name: 'Progress of the check' }).waitFor()
      await page.getByRole('button', { name: 'Cancel' }).click()
      await expect.poll(() => page.getByRole('progressbar').count()).toBe(0)
      expect(await page.getByRole('alert').count()).toBe(0)
    }))

  test('takes content down, and lifts it', () =>
    signedIn(async ({ page, server }) => {
      const cid = await keep(server, 'a claim', 'claimed.txt')
      const answered = async () => (await page.request.get(`${server.origin}/ipfs/${cid}`)).status()
      expect(await answered()).toBe(200)
      await goTo(page, 'owner/takedowns')
      await page.getByLabel('CID').fill('no CID')
      await page.getByLabel('Reason').fill('A claim')
      await page.getByLabel('Answered with').selectOption('451')
      await page.getByRole('button', { name: 'Take down' }).click()
      await page.getByRole('alert').waitFor()
      await page.getByLabel('CID').fill(cid)
      await page.getByRole('button', { name: 'Take down' }).click()
      await row(page, cid).getByText('A claim').waitFor()
      expect(await answered()).toBe(451)
      await page.getByRole('button', { name: `Serve again ${cid}` }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('It was taken down for: A claim').waitFor()
      await expectGoodLooks(page, 'owner-lift')
      await dialog.getByRole('button', { name: 'Serve it again' }).click()
      await page.getByText('No takedowns').waitFor()
      expect(await answered()).toBe(200)
    }))

  test('shows recent failures', () =>
    signedIn(async ({ page, server }) => {
      await goTo(page, 'owner/failures')
      await page.getByText('None since the start of the node').waitFor()
      await server.engine.takedowns.add({ cid: 'bafkqaaa', reason: 'A claim' })
      await goTo(page, 'owner')
      await goTo(page, 'owner/failures')
      const item = page.getByRole('listitem').filter({ hasText: 'content taken down' })
      await item.getByText('bafkqaaa').waitFor()
      expect(await item.textContent()).toContain('Warning')
    }))

  test('filters, pages and exports the audit log', () =>
    signedIn(async ({ page, server: { engine, owner, origin, key } }) => {
      const client = new HoldfastClient({ base: origin, key })
      const user = await client.owner.createAccount({ email: 'user@example.org', plan: 'free' })
      for (let i = 0; i < 60; i++) await client.owner.setPlan(user.id, 'premium')
      await engine.accounts.setPassword(owner, 'a long enough password')
      for (const password of ['wrong', 'also wrong']) {
        await client.sessions.signIn('owner@localhost', password).catch(() => undefined)
      }
      await new HoldfastClient({ base: origin, key: user.token }).keys.create({ name: '=1+1', scopes: ['files:read'] })
      await goTo(page, 'owner/audit')
      await row(page, 'key.create').getByText('=1+1').waitFor()
      expect(await page.getByRole('row').count()).toBe(51)
      await page.getByRole('button', { name: 'Older' }).click()
      await row(page, 'account.create').waitFor()
      expect(await row(page, 'account.create').textContent()).toContain('owner@localhost')
      await page.getByRole('button', { name: 'Newer' }).click()
      await page.getByRole('button', { name: 'Only user@example.org' }).click()
      await expect.poll(() => page.getByRole('row').count()).toBe(2)
      expect(await page.getByLabel('Account', { exact: true }).inputValue()).toBe(user.id)
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Export as CSV' }).click(),
      ])
      expect(download.suggestedFilename()).toBe('audit.csv')
      const csv = await readFile(await download.path(), 'utf8')
      expect(csv.split('\r\n')[1]).toMatch(/,key\.create,ok,'=1\+1$/)
      await page.getByRole('button', { name: 'Clear' }).click()
      await page.getByLabel('Outcome').selectOption('INVALID_API_KEY')
      await page.getByLabel('Outcome').press('Tab')
      // Failed sign-ins are written some seconds later.
      await expect
        .poll(
          async () => {
            // A click aborts the load of the click before.
            const answer = page.waitForResponse('**/admin/v1/audit?*')
            await page.getByRole('button', { name: 'Apply' }).click()
            await answer
            return row(page, 'sign-in').allTextContents()
          },
          { interval: 500 },
        )
        .toEqual([expect.stringMatching(/owner@localhost.*stranger · 127\.0\.0\.1.*INVALID_API_KEY.*2 times/)])
      await expectGoodLooks(page, 'node-audit')
      await page.getByRole('button', { name: 'Clear' }).click()
      await page.getByLabel('Action').fill('key.create')
      await page.getByLabel('Action').press('Enter')
      await expect.poll(() => page.getByRole('row').count()).toBe(2)
      await client.keys.create({ name: 'newer', scopes: ['files:read'] })
      await page.getByLabel('Action').press('Enter')
      await row(page, 'key.create').getByText('newer').waitFor()
      await page.getByLabel('Action').fill('no action')
      await page.getByLabel('Action').press('Enter')
      expect(await page.getByRole('alert').textContent()).toContain('Action must be one of')
    }))

  test('shows addresses and peers of the node', () =>
    withTempDir(dataDir =>
      signedIn(
        async ({ page, server }) => {
          const addresses = await server.engine.addresses()
          const other = await createEngine({
            dataDir: newDirectory(dataDir),
            network: { enabled: true, peers: addresses },
          })
          try {
            await expect.poll(async () => (await server.engine.stats()).peers).toBe(1)
            await goTo(page, 'owner/network')
            await page
              .getByRole('listitem')
              .filter({ hasText: addresses[0] ?? '' })
              .waitFor()
            const [id = ''] = (await other.addresses()).map(address => address.split('/p2p/')[1] ?? '')
            expect(await row(page, id).textContent()).toContain('it')
            // A phone shows the long addresses without horizontal scrolling.
            await page.setViewportSize({ width: 360, height: 740 })
            expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
          } finally {
            await other.stop()
          }
        },
        { config: { network: { enabled: true } } },
      ),
    ))

  test('serves the owner only, and names the scope that a key lacks', () =>
    atDoor(async ({ page, server: { engine, owner, origin } }) => {
      const user = await engine.accounts.create({ email: 'user@example.org', plan: 'free' })
      const theirs = await engine.keys.create(user.id, { name: 'all', scopes: SCOPES })
      await fillInKey(page, theirs.secret)
      expect(await page.getByRole('link', { name: 'Node' }).count()).toBe(0)
      await goTo(page, 'owner')
      expect(await page.getByRole('alert').first().textContent()).toMatch(/owner/)
      const lesser = await engine.keys.create(owner, { name: 'lesser', scopes: SCOPES.slice(0, 1) })
      await signInByKey(page, { origin, key: lesser.secret })
      await page.getByRole('link', { name: 'Node' }).click()
      expect(await page.getByRole('alert').first().textContent()).toMatch(/scope/)
    }))
})
