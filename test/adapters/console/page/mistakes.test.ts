import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { inBrowser } from '../../../support/browser.ts'
import { consoles, goTo } from './opened.ts'

/** A form of the page: its address, the button that opens it, what is typed by label, and the button that sends it. */
interface Form {
  hash: string
  opens?: string
  typed: Readonly<Record<string, string>>
  sends: string
}

const key = (typed: Form['typed']): Form => ({ hash: '/account/keys', opens: 'New key', typed, sends: 'Make the key' })
const account = (typed: Form['typed']): Form => {
  return { hash: '/owner/accounts', opens: 'New account', typed, sends: 'Make the account' }
}

/** Mistakes in forms, the words that name the fault, and those that name the remedy. */
const MISTAKES: ReadonlyArray<readonly [what: string, form: Form, fault: string, remedy: string]> = [
  ['no CID', { hash: '/', opens: 'Pin by CID', typed: { CID: 'readme' }, sends: 'Pin' }, 'CID', 'such as bafy… or Qm…'],
  [
    'a private URL',
    { hash: '/', typed: { 'From a URL': 'https://127.0.0.1/' }, sends: 'Upload' },
    'URL',
    'private address',
  ],
  // feature: webhooks
  [
    'a private webhook',
    { hash: '/account/webhooks', typed: { Address: 'http://127.0.0.1/' }, sends: 'Add' },
    'a private address',
    'webhooks.allowPrivate',
  ],
  // end
  ['a slash in the name of a key', key({ Name: 'a/b' }), 'Name must not contain', '/ \\ ? # %'],
  [
    'the name of another key',
    key({ Name: 'used-test' }),
    'Name used-test is in use',
    'choose another, or revoke that key',
  ],
  ['a short password', account({ Email: 'ada@example.org', Password: 'short' }), 'Password', '8 to 1024 characters'],
  [
    'a taken email',
    account({ Email: 'owner@localhost', Password: '' }),
    'Email owner@localhost is in use',
    'choose another',
  ],
  [
    'a takedown of no CID',
    { hash: '/owner/takedowns', typed: { CID: 'readme', Reason: 'a claim' }, sends: 'Take down' },
    'CID',
    'such as bafy… or Qm…',
  ],
]

async function answeredTo(page: Page, { hash, opens, typed, sends }: Form): Promise<string> {
  // An alert of the form before would be read as the answer.
  await goTo(page, 'nowhere')
  const alerts = page.getByRole('alert').filter({ hasText: /\S/ })
  await expect.poll(() => alerts.count()).toBe(0)
  await page.evaluate(place => {
    location.hash = place
  }, hash)
  if (opens !== undefined) await page.getByRole('button', { name: opens }).click()
  for (const [label, text] of Object.entries(typed)) await page.getByLabel(label, { exact: true }).first().fill(text)
  await page.getByRole('button', { name: sends, exact: true }).click()
  const answer = await alerts.first().textContent()
  await page.keyboard.press('Escape')
  return answer ?? ''
}

describe('mistakes in the console', inBrowser, () => {
  const { atDoor, signedIn } = consoles()

  test('each answer names the fault and the remedy', { timeout: 120_000 }, () =>
    signedIn(async ({ page, server }) => {
      await server.engine.keys.create(server.owner, { name: 'used-test' })
      const answers: string[] = []
      for (const [what, form] of MISTAKES) answers.push(`${what}: ${await answeredTo(page, form)}`)
      const missing = MISTAKES.filter(([, , ...words], i) => words.some(word => !answers[i]?.includes(word)))
      expect(missing.map(([what]) => answers.find(answer => answer.startsWith(`${what}:`)))).toEqual([])
    }),
  )

  test('a wrong key says what to do', () =>
    atDoor(async ({ page }) => {
      const answer = await answeredTo(page, { hash: '/', typed: { 'API key': 'wrong' }, sends: 'Sign in' })
      expect(answer).toBe('Unknown or revoked key: copy the whole key, or use another')
    }))
})
