import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { oidc } from '../../../adapters/oidc/index.ts'
import type { EngineOptions } from '../../../src/index.ts'
import { inBrowser, launchBrowser } from '../../support/browser.ts'
import { type ConsoleServer, signInByKey, signInByPassword, withConsole } from '../../support/console-server.ts'
import { expectGoodLooks } from '../../support/looks.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { CLIENT_ID, CLIENT_SECRET, TestProvider } from '../../support/oidc-provider.ts'

const PASSWORD = 'a password of the owner'

interface Visit {
  server: ConsoleServer
  context: BrowserContext
  page: Page
  clock: ManualClock
}

describe('a kept sign-in that is 15 minutes old', inBrowser, () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser?.close())

  function visited(
    run: (visit: Visit) => Promise<void>,
    options: (origin: string) => Partial<EngineOptions> = () => ({}),
  ): Promise<void> {
    const clock = new ManualClock(Date.now())
    return withConsole(
      async server => {
        const context = await browser.newContext()
        try {
          await run({ server, context, page: await context.newPage(), clock })
        } finally {
          await context.close()
        }
      },
      origin => ({ ...options(origin), clock }),
      true,
    )
  }

  const dialog = (page: Page) => page.getByRole('dialog', { name: 'Confirm that it is you' })
  const makeKey = async (page: Page, server: ConsoleServer, name: string): Promise<void> => {
    await page.goto(`${server.origin}/console/#/account/keys`)
    await page.getByRole('button', { name: 'New key' }).click()
    const form = page.getByRole('dialog', { name: 'New key' })
    await form.getByRole('textbox', { name: 'Name' }).fill(name)
    await form.getByRole('button', { name: 'Make the key' }).click()
  }
  const madeKey = (page: Page, name: string) => page.getByRole('dialog', { name: `The key ${name}` })
  const names = async ({ engine, owner }: ConsoleServer) => (await engine.keys.list(owner)).map(({ name }) => name)

  test('asks for its key, and goes on with what the user did', () =>
    visited(async ({ server, page, clock }) => {
      await signInByKey(page, server)
      await page.reload()
      clock.advance(16 * 60_000)
      await makeKey(page, server, 'made')
      await dialog(page).waitFor()
      await expectGoodLooks(page, 'proof-key')
      // The keyboard alone is enough, and Escape does nothing.
      expect(await page.evaluate('document.activeElement.type')).toBe('password')
      await page.keyboard.press('Escape')
      await dialog(page).waitFor({ state: 'detached' })
      await page.getByText('Nothing was done, because you did not confirm').waitFor()
      expect(await names(server)).not.toContain('made')
      await page.getByRole('button', { name: 'Make the key' }).click()
      await dialog(page).waitFor()
      await page.keyboard.type('hf_wrong')
      await page.keyboard.press('Enter')
      await dialog(page).getByText('Key is not the API key that signed in').waitFor()
      await dialog(page).getByLabel('API key').fill(server.key)
      await page.keyboard.press('Enter')
      await madeKey(page, 'made').waitFor()
      expect(await names(server)).toContain('made')
      await madeKey(page, 'made').getByRole('button', { name: 'Done' }).click()
      await makeKey(page, server, 'soon after')
      await madeKey(page, 'soon after').waitFor()
    }))

  test('asks for the password, and makes an account', () =>
    visited(async ({ server, page, clock }) => {
      await server.engine.accounts.setPassword(server.owner, PASSWORD)
      await signInByPassword(page, server, PASSWORD)
      clock.advance(16 * 60_000)
      await page.goto(`${server.origin}/console/#/owner/accounts`)
      await page.getByRole('button', { name: 'New account' }).click()
      await page.getByRole('dialog', { name: 'New account' }).getByLabel('Email').fill('new@example.org')
      await page.getByRole('button', { name: 'Make the account' }).click()
      await dialog(page).getByLabel('Password').fill(PASSWORD)
      await dialog(page).getByRole('button', { name: 'Confirm' }).click()
      await page.getByRole('dialog', { name: 'The key of new@example.org' }).waitFor()
    }))

  test('asks the provider again in another tab', async () => {
    await using provider = await TestProvider.start()
    await visited(
      async ({ server, context, page, clock }) => {
        await page.goto(`${server.origin}/console/`)
        await page.getByRole('button', { name: 'Sign in with the test' }).click()
        await page.getByRole('button', { name: 'Sign out' }).waitFor()
        clock.advance(16 * 60_000)
        await makeKey(page, server, 'made')
        const confirm = dialog(page).getByRole('button', { name: 'Confirm with the test' })
        await confirm.waitFor()
        await expectGoodLooks(page, 'proof-provider')
        const opened = context.waitForEvent('page')
        await confirm.click()
        const other = await opened
        await other.getByText('You are confirmed. Close this tab').waitFor()
        expect(await other.evaluate('sessionStorage.length')).toBe(0)
        await madeKey(page, 'made').waitFor()
        expect(provider.requests.filter(path => path.includes('max_age=0'))).toHaveLength(1)
        // Another user of the provider confirms nothing.
        await madeKey(page, 'made').getByRole('button', { name: 'Done' }).click()
        clock.advance(16 * 60_000)
        provider.user = { sub: 'mallory' }
        await makeKey(page, server, 'never')
        await confirm.click()
        await dialog(page).getByText('Answer is of another user of the provider').waitFor()
      },
      origin => ({
        oidc: {
          issuer: provider.issuer,
          clientId: CLIENT_ID,
          clientSecretEnv: 'SECRET',
          redirectUri: `${origin}/console/`,
          label: 'the test',
        },
        signIn: oidc,
        environment: { SECRET: CLIENT_SECRET },
      }),
    )
  })
})
