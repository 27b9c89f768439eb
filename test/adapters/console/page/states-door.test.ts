import { describe, expect, test } from 'vitest'
import { HoldfastClient } from '../../../../adapters/client/index.ts'
import { codeAt } from '../../../contract/audits-second-factor.ts'
import { inBrowser } from '../../../support/browser.ts'
import { fillInKey } from '../../../support/console-server.ts'
import { expectGoodLooks } from '../../../support/looks.ts'
import { consoles, goTo } from './opened.ts'

const PASSWORD = 'a long enough password'

describe('the way into the console', inBrowser, () => {
  const { atDoor } = consoles()

  test('looks good with a key, a password, a code and a link', () =>
    atDoor(async ({ page, server }) => {
      const look = (name: string): Promise<void> => expectGoodLooks(page, `door-${name}`)
      const signIn = page.getByRole('button', { name: 'Sign in', exact: true })
      await look('key')
      await page.getByLabel('API key', { exact: true }).fill('hf_nothing')
      await signIn.click()
      await page.getByRole('alert').waitFor()
      await look('key-refused')
      const { email } = await server.engine.accounts.get(server.owner)
      const { token } = await server.engine.accounts.makePasswordLink(server.owner)
      await goTo(page, `password?token=${token}`)
      await page.getByLabel('New password').waitFor()
      await look('password-link')
      await page.getByLabel('New password').fill(PASSWORD)
      await page.getByRole('button', { name: 'Set the password' }).click()
      await page.getByRole('button', { name: 'Sign out' }).click()
      await signIn.waitFor()
      await goTo(page, `password?token=${token}`)
      await page.getByLabel('New password').fill(PASSWORD)
      await page.getByRole('button', { name: 'Set the password' }).click()
      await page.getByRole('alert').waitFor()
      await look('password-link-used')
      await page.goto(`${server.origin}/console/?again`)
      await page.getByRole('tab', { name: 'Password' }).click()
      await look('password')
      await page.getByLabel('Email').fill(email)
      await page.getByLabel('Password', { exact: true }).fill('not it')
      await signIn.click()
      await page.getByRole('alert').waitFor()
      await look('password-refused')
      const client = new HoldfastClient({ base: server.origin })
      const session = await client.sessions.signIn(email, PASSWORD)
      const own = new HoldfastClient({ base: server.origin, key: 'token' in session ? session.token : '' })
      const { secret } = await own.secondFactor.setUp()
      await own.secondFactor.enable(codeAt(secret, Date.now()))
      await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
      await signIn.click()
      await page.getByLabel('Code').waitFor()
      await look('code')
    }))

  test('looks good on the front page and on that of the API', () =>
    atDoor(async ({ page, server }) => {
      await page.goto(`${server.origin}/`)
      await page.getByRole('heading', { name: 'Upload your first file' }).waitFor()
      await expectGoodLooks(page, 'front')
      const command = await page.locator('pre').innerText()
      expect(command).toContain(`  ${server.origin}/api/v3/files`)
      await page.goto(`${server.origin}/api/v3/docs`)
      await page.getByRole('heading', { name: 'Files', exact: true }).first().waitFor()
      await expectGoodLooks(page, 'api-docs')
    }))

  test('looks good in an outage, and after the end of a session', () =>
    atDoor(
      async ({ page, server }) => {
        const look = (name: string, isBusy?: boolean): Promise<void> => expectGoodLooks(page, `door-${name}`, isBusy)
        server.answerWith((_, outgoing) => outgoing.writeHead(503).end())
        await page.getByLabel('API key', { exact: true }).fill(server.key)
        await page.getByRole('button', { name: 'Sign in', exact: true }).click()
        await page.getByRole('alert').waitFor()
        await look('outage')
        server.answerWith()
        await fillInKey(page, server.key)
        const held: Array<() => void> = []
        server.answerWith((incoming, outgoing) => {
          if (incoming.url?.startsWith('/console/') === true) server.node(incoming, outgoing)
          else held.push(() => server.node(incoming, outgoing))
        })
        await page.reload()
        await page.getByText('Signing in…').waitFor()
        await look('resuming', true)
        server.answerWith()
        for (const answer of held) answer()
        await page.getByRole('heading', { name: 'Content', exact: true }).waitFor()
        // Another tab signs out everywhere.
        await new HoldfastClient({ base: server.origin, key: server.key }).keys.endConsoles()
        await goTo(page, 'account/keys')
        await page.getByText('Your session has ended. Sign in again.').waitFor()
        await look('session-ended')
        for (let i = 0; i < 16; i++) {
          await new HoldfastClient({ base: server.origin, key: server.key }).keys.createForConsole()
        }
        await page.getByLabel('API key', { exact: true }).fill(server.key)
        await page.getByRole('button', { name: 'Sign in', exact: true }).click()
        await page.getByText('16 tabs are signed in').waitFor()
        await look('many-tabs')
        await page.route('**/main.js', route => route.abort())
        await page.goto(`${server.origin}/console/?again`)
        await page.getByText('The console has not started').waitFor()
        await look('not-started')
      },
      { hasGateway: true },
    ))
})
