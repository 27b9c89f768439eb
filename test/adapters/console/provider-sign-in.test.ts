import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { oidc } from '../../../adapters/oidc/index.ts'
import type { EngineOptions } from '../../../src/index.ts'
import { inBrowser, launchBrowser } from '../../support/browser.ts'
import { type ConsoleServer, withConsole } from '../../support/console-server.ts'
import { expectGoodLooks } from '../../support/looks.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { CLIENT_ID, CLIENT_SECRET, TestProvider } from '../../support/oidc-provider.ts'
import { withDatabase } from '../../support/store-inspection.ts'

const STORED = 'JSON.stringify(sessionStorage) + JSON.stringify(localStorage) + document.cookie'
const MINUTE = 60_000

interface Visit {
  server: ConsoleServer
  provider: TestProvider
  context: BrowserContext
  page: Page
}

describe('a sign-in with a provider', inBrowser, () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser?.close())

  async function visited(run: (visit: Visit) => Promise<void>, options: Partial<EngineOptions> = {}): Promise<void> {
    await using provider = await TestProvider.start()
    const oidcOf = (origin: string) => ({
      issuer: provider.issuer,
      clientId: CLIENT_ID,
      clientSecretEnv: 'SECRET',
      redirectUri: `${origin}/console/`,
      label: 'the test',
      groups: [{ group: 'staff', plan: 'premium' }],
    })
    await withConsole(
      async server => {
        const context = await browser.newContext()
        try {
          await run({ server, provider, context, page: await context.newPage() })
        } finally {
          await context.close()
        }
      },
      origin => ({ oidc: oidcOf(origin), signIn: oidc, environment: { SECRET: CLIENT_SECRET }, ...options }),
      true,
    )
  }

  const signOut = (page: Page) => page.getByRole('button', { name: 'Sign out' })
  const button = (page: Page) => page.getByRole('button', { name: 'Sign in with the test' })
  const click = async ({ page, server }: Pick<Visit, 'page' | 'server'>): Promise<void> => {
    await page.goto(`${server.origin}/console/`)
    await button(page).click()
  }
  const listed = async ({ server }: Visit) =>
    (await server.engine.accounts.list()).map(({ email, plan, role }) => `${email} ${plan} ${role}`)

  test('leads from the click to the page, and survives a reload', () =>
    visited(async visit => {
      const { server, page } = visit
      const seen: string[] = []
      page.on('request', request => seen.push(`${request.url()} ${JSON.stringify(request.headers())}`))
      await click(visit)
      await signOut(page).waitFor()
      expect(page.url()).toBe(`${server.origin}/console/#/`)
      expect(await listed(visit)).toEqual(['owner@localhost unlimited owner', 'ada@example.org premium user'])
      // The code is in the one request of the page, and in no other or referrer.
      expect(seen.filter(text => /[?&]code=/.test(text))).toHaveLength(1)
      const stored = String(await page.evaluate(STORED))
      expect(stored).not.toMatch(/holdfast sign-in|code=/)
      await page.reload()
      await signOut(page).waitFor()
      await signOut(page).click()
      await click(visit)
      await signOut(page).waitFor()
      expect(await listed(visit)).toHaveLength(2)
    }))

  test('takes no account of the same email, nor that of the owner', () =>
    visited(async visit => {
      const { server, provider, page } = visit
      const { id } = await server.engine.accounts.create({ email: 'victim@example.org', plan: 'unlimited' })
      for (const [sub, email] of [
        ['evil', 'victim@example.org'],
        ['worse', 'Owner@localhost'],
      ] as const) {
        provider.user = { sub, email, email_verified: true, groups: [] }
        await click(visit)
        await signOut(page).waitFor()
        await signOut(page).click()
      }
      const rows = await listed(visit)
      expect(rows).toHaveLength(4)
      expect(rows.filter(row => / free user$/.test(row))).toHaveLength(2)
      expect((await server.engine.accounts.get(id)).plan).toBe('unlimited')
    }))

  test('refuses the answer for another tab, and one that no tab began', () =>
    visited(async ({ server, provider, context, page }) => {
      // The browser stays on the console, so the answer reaches only the test.
      const held = async (tab: Page): Promise<string> => {
        provider.fault = { answer: (path, response) => path === '/authorize' && !!response.writeHead(204).end() }
        const { length } = provider.requests
        await button(tab).click()
        const asked = () => provider.requests.slice(length).find(url => url.startsWith('/authorize'))
        await expect.poll(asked).toBeDefined()
        provider.fault = {}
        return (await provider.signIn(`${provider.issuer}${asked()}`)).search
      }
      await page.goto(`${server.origin}/console/`)
      const answer = await held(page)
      const other = await context.newPage()
      await other.goto(`${server.origin}/console/${answer}`)
      await other.getByText('This sign-in was not started in this tab').waitFor()
      await held(other)
      await other.goto(`${server.origin}/console/${answer}`)
      await other.getByText('The sign-in was refused').waitFor()
      await expectGoodLooks(other, 'sign-in-provider-refused')
      expect(other.url()).toBe(`${server.origin}/console/#/`)
      expect((await server.engine.accounts.list()).length).toBe(1)
      await page.goto(`${server.origin}/console/${answer}`)
      await signOut(page).waitFor()
    }))

  test('says so if the provider is down, and leaves the other ways', () =>
    visited(async visit => {
      await visit.provider[Symbol.asyncDispose]()
      await click(visit)
      await visit.page.getByText('The sign-in provider does not answer').waitFor()
      await visit.page.getByLabel('API key', { exact: true }).fill(visit.server.key)
      await visit.page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await signOut(visit.page).waitFor()
    }))

  test('ends the plan of a lost group within an hour, keys included', async () => {
    const clock = new ManualClock(Date.now())
    await visited(
      async visit => {
        const { server, provider, page } = visit
        await click(visit)
        await signOut(page).waitFor()
        const account = (await server.engine.accounts.list())[1]
        const planOf = async () => (await server.engine.accounts.get(account?.id ?? '')).plan
        const refreshes = () => provider.requests.filter(url => url === '/token').length - 1
        /** The stored answer of a refresh moves it by half an hour. Asking the provider moves it by a few minutes. */
        const nextRefresh = () =>
          withDatabase(server.engine.dataDir, db => {
            return db.prepare<[], { at: number }>('SELECT refresh_at AS at FROM identities').get()?.at
          })
        for (let minutes = 0; minutes < 35; minutes += 5) await clock.advance(5 * MINUTE)
        await expect.poll(refreshes).toBe(1)
        await expect.poll(nextRefresh).toBeGreaterThan(clock.now() + 20 * MINUTE)
        expect(await planOf()).toBe('premium')
        provider.user = { ...provider.user, groups: [] }
        for (let minutes = 0; minutes < 35; minutes += 5) await clock.advance(5 * MINUTE)
        await expect.poll(planOf).toBe('free')
      },
      { clock },
    )
  })

  test('shows its button and its problem at both widths', () =>
    visited(async ({ server, provider, page }) => {
      await page.goto(`${server.origin}/console/`)
      await button(page).waitFor()
      await expectGoodLooks(page, 'sign-in-provider')
      await provider[Symbol.asyncDispose]()
      await button(page).click()
      await page.getByText('The sign-in provider does not answer').waitFor()
      await expectGoodLooks(page, 'sign-in-provider-down')
    }))
})
