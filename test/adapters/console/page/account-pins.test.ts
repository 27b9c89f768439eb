import { describe, expect, test } from 'vitest'
import { inBrowser } from '../../../support/browser.ts'
import { expectGoodLooks } from '../../../support/looks.ts'
import { consoles, goTo } from './opened.ts'

describe('the pins of one account', inBrowser, () => {
  const { signedIn } = consoles()

  test('are listed for the owner, private ones with a lock', () =>
    signedIn(async ({ page, server: { engine, origin } }) => {
      const { id } = await engine.accounts.create({ email: 'user@example.org', plan: 'free' })
      const { record } = await engine.pins.upload(Buffer.from('open'), { account: id, name: 'open.txt' })
      await engine.pins.upload(Buffer.from('closed'), { account: id, name: 'closed.txt', visibility: 'private' })
      await goTo(page, 'owner/accounts')
      await page.getByRole('link', { name: '2 pins of user@example.org' }).click()
      await page.getByRole('heading', { name: 'Pins of user@example.org' }).waitFor()
      const row = (name: string) => page.getByRole('row').filter({ hasText: name })
      await row('closed.txt').getByText('Private').waitFor()
      // The owner opens what anyone can. There is no menu, and no page of the pin.
      expect(await row('closed.txt').getByRole('link').count()).toBe(0)
      const link = row('open.txt').getByRole('link', { name: 'open.txt' })
      expect(await link.getAttribute('href')).toBe(`${origin}/ipfs/${record.cid}`)
      expect(await page.getByRole('button', { name: /^Actions for/ }).count()).toBe(0)
      expect(await page.getByRole('checkbox').count()).toBe(0)
      await expectGoodLooks(page, 'account-pins')
      await page.getByLabel('Readers').selectOption('Only this account')
      await expect.poll(() => row('open.txt').count()).toBe(0)
      await page.getByRole('link', { name: '‹ All accounts' }).click()
      await page.getByRole('heading', { name: /^Accounts/ }).waitFor()
    }))
})
