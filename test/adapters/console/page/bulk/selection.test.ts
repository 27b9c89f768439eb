import type { Page, Route } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { inBrowser } from '../../../../support/browser.ts'
import { type ConsoleServer, fillInKey } from '../../../../support/console-server.ts'
import { Keyboard } from '../../../../support/keyboard.ts'
import { expectGoodLooks } from '../../../../support/looks.ts'
import { consoles, keep } from '../opened.ts'

describe('a selection of pins in the console', inBrowser, () => {
  const { signedIn } = consoles()
  const box = (page: Page, name: string) => page.getByRole('checkbox', { name: `Select ${name}`, exact: true })
  const bar = (page: Page) => page.getByRole('region', { name: 'Selection' })
  const changes = (page: Page) => page.getByRole('region', { name: 'Changes' })
  const names = (page: Page) => page.locator('td.name > a').allTextContents()
  const all = async ({ engine, owner }: ConsoleServer) =>
    (await engine.pins.list({ account: owner, limit: 1_000 })).items

  async function fill(page: Page, server: ConsoleServer, count: number): Promise<void> {
    for (let i = 1; i <= count; i++) await keep(server, `pin ${i}`, `pin ${i}`)
    await page.reload()
    await fillInKey(page, server.key)
    await box(page, `pin ${count}`).waitFor()
  }

  test('on the last page is deleted, and the page before shows', () =>
    signedIn(async ({ page, server }) => {
      await fill(page, server, 28)
      await page.getByRole('button', { name: 'Last' }).click()
      await box(page, 'pin 3').waitFor()
      await page.getByRole('checkbox', { name: 'Select all on this page' }).click()
      await bar(page).getByRole('button', { name: 'Delete…' }).click()
      await page.getByRole('button', { name: 'Delete 3 pins' }).click()
      await changes(page).getByText('3 pins deleted').waitFor()
      await box(page, 'pin 28').waitFor()
      expect(await names(page)).toHaveLength(25)
    }))

  test('is deleted as one job, and restored by an undo', () =>
    signedIn(async ({ page, server }) => {
      await fill(page, server, 8)
      const before = await all(server)
      await box(page, 'pin 7').click()
      await box(page, 'pin 4').click({ modifiers: ['Shift'] })
      await box(page, 'pin 5').click()
      await bar(page).getByText('3 pins selected').waitFor()
      await expectGoodLooks(page, 'selection')
      await bar(page).getByRole('button', { name: 'Delete…' }).click()
      expect(await page.getByRole('dialog').getByRole('listitem').allTextContents()).toEqual([
        'pin 7',
        'pin 6',
        'pin 4',
      ])
      await expectGoodLooks(page, 'selection-delete')
      await page.getByRole('button', { name: 'Delete 3 pins' }).click()
      await changes(page).getByText('3 pins deleted').waitFor()
      await expect.poll(() => names(page)).toEqual(['pin 8', 'pin 5', 'pin 3', 'pin 2', 'pin 1'])
      await expect.poll(() => bar(page).count()).toBe(0)
      await expectGoodLooks(page, 'selection-deleted')
      await changes(page).getByRole('button', { name: 'Undo' }).click()
      await changes(page).getByText('3 pins restored').waitFor()
      await expect.poll(() => names(page)).toHaveLength(8)
      expect(await all(server)).toEqual(before)
      await changes(page).getByRole('button', { name: 'Dismiss: 3 pins restored' }).click()
      await expect.poll(() => changes(page).count()).toBe(0)
    }))

  test('includes all pins that match, on every page of the list', () =>
    signedIn(async ({ page, server }) => {
      await keep(server, 'unlike', 'unlike')
      await fill(page, server, 30)
      await page.getByLabel('Search').fill('pin')
      await page.getByRole('heading', { name: 'Pins 30' }).waitFor()
      await page.getByRole('checkbox', { name: 'Select all on this page' }).click()
      await bar(page).getByText('25 pins selected').waitFor()
      await bar(page).getByRole('button', { name: 'Select all 30 pins that match' }).click()
      await bar(page).getByText('All 30 matching pins selected').waitFor()
      await expectGoodLooks(page, 'selection-matching')
      // A pin that another program deletes meanwhile changes the number, which the user confirms again.
      const [other] = await all(server)
      await server.engine.pins.remove({ account: server.owner, cid: other?.cid ?? '' })
      await bar(page).getByRole('button', { name: 'Delete…' }).click()
      await page.getByRole('button', { name: 'Delete 30 pins' }).click()
      await page.getByRole('dialog').getByRole('alert').waitFor()
      await expectGoodLooks(page, 'selection-changed')
      // A later upload stays.
      await keep(server, 'later', 'pin later')
      await page.getByRole('button', { name: 'Delete 29 pins' }).click()
      await changes(page).getByText('29 pins deleted').waitFor()
      await expect.poll(() => names(page)).toEqual(['pin later'])
      expect((await all(server)).map(({ name }) => name)).toEqual(['pin later', 'unlike'])
    }))

  test('is one click on a row away from all that match', () =>
    signedIn(async ({ page, server }) => {
      await fill(page, server, 30)
      await box(page, 'pin 30').click()
      await bar(page).getByRole('button', { name: 'Select all 30 pins that match' }).click()
      await bar(page).getByText('All 30 matching pins selected').waitFor()
      await box(page, 'pin 29').click()
      await bar(page).getByText('24 pins selected').waitFor()
      await page.getByRole('button', { name: 'Next' }).click()
      await box(page, 'pin 1').click()
      await bar(page).getByText('25 pins selected').waitFor()
      await page.getByLabel('Kind').selectOption('Files')
      await expect.poll(() => bar(page).count()).toBe(0)
    }))

  test('stays as chosen while the pins that match are counted', () =>
    signedIn(async ({ page, server }) => {
      await fill(page, server, 30)
      await box(page, 'pin 30').click()
      const asked = Promise.withResolvers<Route>()
      await page.route('**/users/me/uploads?*', asked.resolve)
      await bar(page).getByRole('button', { name: 'Select all 30 pins that match' }).click()
      const count = await asked.promise
      expect(await bar(page).getByRole('button', { name: 'Delete…' }).isDisabled()).toBe(true)
      await box(page, 'pin 28').click()
      await bar(page).getByText('2 pins selected').waitFor()
      await count.continue()
      await bar(page).getByRole('button', { name: 'Delete…' }).click()
      await page.getByRole('button', { name: 'Delete 2 pins' }).waitFor()
    }))

  test('is made, deleted and restored by keyboard alone', () =>
    signedIn(async ({ page, server }) => {
      await fill(page, server, 4)
      const keys = new Keyboard(page)
      await keys.use('Select pin 4', 'Space')
      await keys.use('Select pin 2', 'Shift+Space')
      await bar(page).getByText('3 pins selected').waitFor()
      await keys.use('Delete…')
      await keys.use('Delete 3 pins')
      await changes(page).getByText('3 pins deleted').waitFor()
      await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Changes')
      await keys.use('Undo')
      await changes(page).getByText('3 pins restored').waitFor()
      await expect.poll(() => names(page)).toHaveLength(4)
    }))

  test('is renamed, given an end, and moved to another cluster', () =>
    signedIn(async ({ page, server }) => {
      await fill(page, server, 3)
      const dialog = page.getByRole('dialog')
      const ask = async (action: string): Promise<void> => {
        await page.getByRole('checkbox', { name: 'Select all on this page' }).click()
        await bar(page).getByRole('button', { name: action }).click()
      }
      await ask('Rename…')
      await dialog.getByLabel('Find').fill('pin')
      await dialog.getByLabel('Replace with').fill('note')
      await dialog.getByLabel('Put after the name').fill('.txt')
      await expectGoodLooks(page, 'selection-rename')
      await dialog.getByRole('button', { name: 'Rename 3 pins' }).click()
      await changes(page).getByText('3 pins renamed').waitFor()
      await expect.poll(() => names(page)).toEqual(['note 3.txt', 'note 2.txt', 'note 1.txt'])
      await ask('Set end…')
      await expectGoodLooks(page, 'selection-end')
      await dialog.getByLabel('Ends').fill('2090-05-01T12:00')
      await dialog.getByRole('button', { name: 'Set the end of 3 pins' }).click()
      await changes(page).getByText('3 pins with a new end').waitFor()
      await ask('Move…')
      await expectGoodLooks(page, 'selection-move')
      await dialog.getByRole('button', { name: 'Move 3 pins' }).click()
      await dialog.getByRole('alert').waitFor()
      await dialog.getByLabel('Cluster').selectOption('cl1-eu')
      await dialog.getByRole('button', { name: 'Move 3 pins' }).click()
      await changes(page).getByText('3 pins moved').waitFor()
      expect(await changes(page).getByRole('button', { name: 'Undo' }).count()).toBe(0)
      const kept = (await all(server)).map(({ clusterId, expiresAt }) => [clusterId, expiresAt !== null])
      expect(kept).toEqual(Array(3).fill(['cl1-eu', true]))
    }))

  test('finds its job again after a reload', () =>
    signedIn(async ({ page, server }) => {
      await fill(page, server, 3)
      await page.getByRole('checkbox', { name: 'Select all on this page' }).click()
      await bar(page).getByRole('button', { name: 'Delete…' }).click()
      await page.getByRole('button', { name: 'Delete 3 pins' }).click()
      await changes(page).getByText('3 pins deleted').waitFor()
      await page.reload()
      await fillInKey(page, server.key)
      await changes(page).getByText('3 pins deleted').waitFor()
      await changes(page).getByText('can be undone for').waitFor()
      await changes(page).getByRole('button', { name: 'Undo' }).click()
      await changes(page).getByText('3 pins restored').waitFor()
      expect(await all(server)).toHaveLength(3)
    }))

  test('shows what a job left, and follows it through an outage', () =>
    signedIn(async ({ page, server }) => {
      await fill(page, server, 3)
      await page.getByRole('checkbox', { name: 'Select all on this page' }).click()
      const [other] = await all(server)
      await server.engine.pins.remove({ account: server.owner, cid: other?.cid ?? '' })
      await bar(page).getByRole('button', { name: 'Delete…' }).click()
      server.answerWith((incoming, outgoing) =>
        incoming.method === 'POST' ? server.node(incoming, outgoing) : outgoing.writeHead(503).end(),
      )
      await page.getByRole('button', { name: 'Delete 3 pins' }).click()
      await changes(page).getByText('Trying again…').waitFor()
      await expectGoodLooks(page, 'selection-outage')
      server.answerWith()
      await changes(page).getByText('2 pins deleted').waitFor()
      await changes(page).getByText('1 pin left as it was: no longer exists').waitFor()
    }))
})
