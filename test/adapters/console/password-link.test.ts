import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codeAt } from '../../contract/audits-second-factor.ts'
import { inBrowser, launchBrowser } from '../../support/browser.ts'
import { type ConsoleServer, signInByKey, withConsole } from '../../support/console-server.ts'

const PASSWORD = 'a password from a link'

async function post(
  { origin }: ConsoleServer,
  path: string,
  body: object,
  token = '',
): Promise<Record<string, string>> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const answer = await fetch(`${origin}/api/v3${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  expect(answer.status).toBe(200)
  return (await answer.json()) as Record<string, string>
}

describe('a password link', inBrowser, () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser?.close())

  async function opened(run: (server: ConsoleServer, page: Page, open: () => Promise<string>) => Promise<void>) {
    await withConsole(async server => {
      const page = await browser.newPage()
      const open = async (): Promise<string> => {
        const { token } = await server.engine.accounts.makePasswordLink(server.owner)
        await page.goto(`${server.origin}/console/#/password?token=${token}`)
        return token
      }
      await run(server, page, open).finally(() => page.close())
    })
  }

  const fill = async (page: Page, password: string): Promise<void> => {
    await page.getByLabel('New password').fill(password)
    await page.getByRole('button', { name: 'Set the password' }).click()
  }
  const signOut = (page: Page) => page.getByRole('button', { name: 'Sign out' })

  test('signs its user in, and is in no request, referrer or history', () =>
    opened(async (server, page, open) => {
      const seen: string[] = []
      page.on('request', request => seen.push(request.url(), JSON.stringify(request.headers())))
      const token = await open()
      await fill(page, 'short')
      await page.getByText('password must have 8 to 1024 characters').waitFor()
      await fill(page, PASSWORD)
      await signOut(page).waitFor()
      expect(seen.filter(text => text.includes(token))).toEqual([])
      expect(seen.filter(text => text.includes('/auth/password'))).toHaveLength(2)
      await expect.poll(() => page.url()).toBe(`${server.origin}/console/#/`)
      await page.goBack().catch(() => null)
      expect(page.url()).not.toContain(token)
      await page.goto(`${server.origin}/console/#/password?token=${token}`)
      await fill(page, PASSWORD)
      await page.getByText('this link was used, has expired, or was replaced').waitFor()
    }))

  test('asks for the code of the second factor after the new password', () =>
    opened(async (server, page, open) => {
      const { email } = await server.engine.accounts.get(server.owner)
      await server.engine.accounts.setPassword(server.owner, 'a forgotten password')
      const login = await post(server, '/auth/login', { email, password: 'a forgotten password' })
      const { secret = '' } = await post(server, '/auth/2fa/setup', {}, login.token)
      await post(server, '/auth/2fa/enable', { code: codeAt(secret, Date.now()) }, login.token)
      await open()
      await fill(page, PASSWORD)
      await page.getByLabel('Code').fill(codeAt(secret, Date.now() + 30_000))
      await page.getByRole('button', { name: 'Sign in' }).click()
      await signOut(page).waitFor()
    }))

  test('opens in a tab where somebody is signed in', () =>
    opened(async (server, page, open) => {
      await signInByKey(page, server)
      await open()
      await fill(page, PASSWORD)
      await signOut(page).waitFor()
      await page.goto(`${server.origin}/console/#/account/security`)
      await page.getByText('Sessions').first().waitFor()
    }))
})
