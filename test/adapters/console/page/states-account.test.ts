import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { HoldfastClient } from '../../../../adapters/client/index.ts'
import { codeAt } from '../../../contract/audits-second-factor.ts'
import { Receiver } from '../../../features/webhooks/receiver.ts' // feature: webhooks
import { inBrowser } from '../../../support/browser.ts'
import { expectGoodLooks } from '../../../support/looks.ts'
import { consoles, factorOf, goTo } from './opened.ts'

const EMAIL = 'user@example.org'
const PASSWORD = 'a long enough password'

describe('the account in the console', inBrowser, () => {
  const { atDoor } = consoles()
  const dialog = (page: Page) => page.getByRole('dialog')

  test('looks good with little, with much, and in each dialog', () =>
    atDoor(
      async ({ page, server: { engine, origin, owner } }) => {
        await using receiver = await new Receiver().start() // feature: webhooks
        const look = (name: string): Promise<void> => expectGoodLooks(page, `account-${name}`)
        const { id } = await engine.accounts.create({ email: EMAIL, password: PASSWORD, plan: 'small' })
        await page.getByRole('tab', { name: 'Password' }).click()
        await page.getByLabel('Email').fill(EMAIL)
        await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
        await page.getByRole('button', { name: 'Sign in' }).click()
        await page.getByRole('heading', { name: 'Content', exact: true }).waitFor()
        await goTo(page, 'account/keys')
        await page.getByText('No keys yet.').waitFor()
        await look('keys-none')
        await goTo(page, 'account/upload-tokens')
        await page.getByText('No upload tokens yet.').waitFor()
        await look('tokens-none')
        // feature: webhooks
        await goTo(page, 'account/webhooks')
        await page.getByText('No webhooks yet.').waitFor()
        await look('webhooks-none')
        // end
        for (let i = 0; i < 5; i++) await engine.pins.upload(Buffer.from(`pin ${i}`), { account: id })
        await goTo(page, 'account/overview')
        await page.getByText('5 of 5').waitFor()
        await look('overview')
        await goTo(page, 'account/keys')
        await page.getByRole('button', { name: 'New key' }).click()
        await page.getByText('Note and addresses').click()
        await look('key-dialog')
        await page.getByRole('textbox', { name: 'Name' }).fill('reader')
        await page.getByLabel('Addresses').fill('nonsense')
        await page.getByRole('button', { name: 'Make the key' }).click()
        await page.getByRole('alert').waitFor()
        await look('key-refused')
        await page.getByLabel('Addresses').fill('127.0.0.0/8, 2001:db8::/32')
        await page.getByRole('button', { name: 'Make the key' }).click()
        await page.locator('.secret').waitFor()
        await look('key-made')
        await page.getByRole('button', { name: 'Done' }).click()
        await engine.keys.create(id, { name: 'a'.repeat(64), scopes: ['files:read'] })
        await goTo(page, 'account/overview')
        await goTo(page, 'account/keys')
        await page.getByRole('button', { name: 'Use reader in a program' }).waitFor()
        await look('keys')
        for (const language of ['curl', 'JavaScript', 'Python']) {
          await page.getByRole('button', { name: 'Use reader in a program' }).click()
          await page.getByRole('button', { name: language, exact: true }).click()
          await look(`key-use-${language}`)
          await page.keyboard.press('Escape')
        }
        await page.getByRole('button', { name: 'Revoke reader' }).click()
        await look('key-revoke')
        await page.getByRole('button', { name: 'Keep it' }).click()
        await goTo(page, 'account/upload-tokens')
        await page.getByRole('button', { name: 'New upload token' }).click()
        await page.getByText('Cluster and expiry of its uploads').click()
        await look('token-dialog')
        await page.getByRole('button', { name: 'Make the token' }).click()
        await page.getByRole('button', { name: 'Done' }).click()
        await page.getByRole('button', { name: /^Revoke / }).waitFor()
        await look('tokens')
        // feature: webhooks
        await goTo(page, 'account/webhooks')
        await page.getByLabel('Address').fill(receiver.url)
        await page.getByRole('button', { name: 'Add' }).click()
        await page.locator('.secret').waitFor()
        await look('webhook-made')
        await page.getByRole('button', { name: 'Done' }).click()
        await page.getByRole('button', { name: /^Deliveries to/ }).waitFor()
        await look('webhooks')
        receiver.answer = response => response.writeHead(500).end()
        await engine.accounts.setPlan(id, 'free')
        await engine.pins.upload(Buffer.from('told of'), { account: id })
        await expect.poll(() => receiver.received.length).toBe(1)
        await page.getByRole('button', { name: /^Deliveries to/ }).click()
        await dialog(page).getByRole('listitem').waitFor()
        await look('deliveries')
        await page.keyboard.press('Escape')
        // end
        await new HoldfastClient({ base: origin }).sessions.signIn(EMAIL, PASSWORD)
        await goTo(page, 'account/security')
        await page.getByRole('button', { name: /^End the session of/ }).waitFor()
        await look('security')
        const setUp = await factorOf(page)
        await page.getByRole('button', { name: 'Set it up' }).click()
        const { secret } = await setUp.answer
        await page.getByRole('img', { name: /secret/ }).waitFor()
        await look('factor-dialog')
        await page.getByLabel('Code', { exact: true }).fill(codeAt(secret, Date.now()))
        await page.getByRole('button', { name: 'Turn it on' }).click()
        await page.locator('.secret').waitFor()
        await look('factor-codes')
        await page.getByRole('button', { name: 'Done' }).click()
        await page.getByText('on', { exact: true }).waitFor()
        await look('factor-on')
        expect(owner).not.toBe(id)
      },
      {
        config: {
          plans: { small: { maxPins: 5, maxStorageBytes: 10_000, timelock: false, clusters: '*' } },
          webhooks: { allowPrivate: true }, // feature: webhooks
        },
      },
    ))
})
