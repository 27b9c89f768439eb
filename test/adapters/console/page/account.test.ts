import jsQR from 'jsqr'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { HoldfastClient } from '../../../../adapters/client/index.ts'
import { codeAt } from '../../../contract/audits-second-factor.ts'
import { Receiver } from '../../../features/webhooks/receiver.ts' // feature: webhooks
import { inBrowser } from '../../../support/browser.ts'
import { pseudoRandom } from '../../../support/bytes.ts'
import type { ConsoleServer } from '../../../support/console-server.ts'
import { consoles, factorOf, goTo } from './opened.ts'

const email = 'holder@example.org'
const password = 'a long enough password'

describe('the account in the console', inBrowser, () => {
  const { atDoor, signedIn } = consoles()
  const config = { webhooks: { allowPrivate: true } } // feature: webhooks

  test('signs in by password, shows its usage, and signs out', () =>
    atDoor(async ({ page, server }) => {
      const { id } = await server.engine.accounts.create({ email, password, plan: 'free' })
      await fillIn(page, 'wrong password')
      await page.getByRole('alert').getByText('Wrong email or password').waitFor()
      await fillIn(page, password)
      await page.getByRole('heading', { name: 'Content' }).waitFor()
      await server.engine.pins.upload(pseudoRandom(5_000_000, 'usage'), { account: id })
      await page.getByRole('link', { name: 'Account' }).click()
      await page.getByText(/^5\.0 MB of /).waitFor()
      expect(Number(await page.getByRole('meter', { name: 'Storage' }).getAttribute('value'))).toBeGreaterThan(
        5_000_000,
      )
      await page.getByLabel('Name', { exact: true }).fill('The holder')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.locator('.who', { hasText: 'The holder' }).waitFor()
      const token = page.waitForRequest('**/auth/logout')
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      const { authorization = '' } = (await token).headers()
      const after = new HoldfastClient({ base: server.origin, key: authorization.replace('Bearer ', '') })
      await expect(after.account.show()).rejects.toMatchObject({ code: 'INVALID_API_KEY' })
    }))

  test('asks for sign-in after a reload, and when the session has ended', () =>
    atDoor(async ({ page, server }) => {
      await server.engine.accounts.create({ email, password, plan: 'premium' })
      await fillIn(page, password)
      await page.getByRole('heading', { name: 'Content' }).waitFor()
      await page.reload()
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      expect(await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie])).toEqual([
        0,
        0,
        '',
      ])
      await fillIn(page, password)
      await page.getByRole('heading', { name: 'Content' }).waitFor()
      await endSessions(server)
      await goTo(page, 'account/keys')
      await page.getByText('Your session has ended. Sign in again.').waitFor()
    }))

  test('turns a second factor on by QR code, and off', () =>
    atDoor(async ({ page, server }) => {
      await server.engine.accounts.create({ email, password, plan: 'premium' })
      await fillIn(page, password)
      await open(page, 'security')
      const setUp = await factorOf(page)
      await page.getByRole('button', { name: 'Set it up' }).click()
      const { secret, otpauthUrl } = await setUp.answer
      await page.getByRole('img', { name: /secret/ }).waitFor()
      expect(await readQrCode(page)).toBe(otpauthUrl)
      await page.getByLabel('Code', { exact: true }).fill('000000')
      await page.getByRole('button', { name: 'Turn it on' }).click()
      await page.getByRole('alert').waitFor()
      await page.getByLabel('Code', { exact: true }).fill(codeAt(secret, Date.now()))
      await page.getByRole('button', { name: 'Turn it on' }).click()
      const codes = ((await page.locator('.secret').textContent()) ?? '').split('\n')
      expect(codes.length).toBeGreaterThan(4)
      await page.getByRole('button', { name: 'Done' }).click()
      await page.getByText('on', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Sign out' }).click()

      await fillIn(page, password)
      await page.getByLabel('Code', { exact: true }).fill(codes[0] ?? '')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await open(page, 'keys')
      await page.getByRole('button', { name: 'New key' }).click()
      await page.getByRole('textbox', { name: 'Name' }).fill('with a code')
      await page.getByLabel('Code of your second factor').fill(codes[1] ?? '')
      await page.getByRole('button', { name: 'Make the key' }).click()
      await page.getByRole('button', { name: 'Done' }).click()
      await page
        .getByRole('cell', { name: /with a code/ })
        .first()
        .waitFor()
      await open(page, 'security')
      await page.getByLabel('Code', { exact: true }).fill(codes[2] ?? '')
      await page.getByRole('button', { name: 'Turn it off' }).click()
      await page.getByText('off', { exact: true }).waitFor()
    }))

  test('creates keys with scopes, expiry and networks, and revokes them', () =>
    signedIn(async ({ page, server }) => {
      await open(page, 'keys')
      await page.getByRole('button', { name: 'New key' }).click()
      await page.getByRole('textbox', { name: 'Name' }).fill('reader')
      await page.getByRole('checkbox', { name: /files:write/ }).uncheck()
      await page.getByLabel('Ends').selectOption('30')
      await page.getByText('Note and addresses').click()
      await page.getByLabel('Addresses').fill('nonsense')
      await page.getByRole('button', { name: 'Make the key' }).click()
      await page.getByRole('alert').waitFor()
      await page.getByLabel('Addresses').fill('127.0.0.0/8, 192.0.2.7')
      await page.getByRole('button', { name: 'Make the key' }).click()
      const secret = (await page.locator('.secret').textContent()) ?? ''
      await page.getByRole('button', { name: 'Done' }).click()
      const reader = new HoldfastClient({ base: server.origin, key: secret })
      expect((await reader.pins.page(1)).total).toBe(0)
      await expect(reader.files.upload('x')).rejects.toMatchObject({ code: 'missing_scope' })
      const row = page.getByRole('row', { name: /reader/ })
      const text = (await row.textContent()) ?? ''
      expect(text).toMatch(/made by owner · from 127\.0\.0\.0\/8, 192\.0\.2\.7 .*files:read cluster:read.*in \d+ days/)
      expect(text).not.toContain(secret)
      await row.getByRole('button', { name: 'Revoke reader' }).click()
      await page.getByRole('button', { name: 'Keep it' }).click()
      await row.getByRole('button', { name: 'Revoke reader' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click()
      await row.waitFor({ state: 'detached' })
      await expect(reader.pins.page(1)).rejects.toMatchObject({ code: 'INVALID_API_KEY' })
    }))

  test('creates upload tokens, and shows their use', () =>
    signedIn(async ({ page, server }) => {
      await open(page, 'upload-tokens')
      await page.getByRole('button', { name: 'New upload token' }).click()
      await page.getByRole('textbox', { name: 'Name' }).fill('for a friend')
      await page.getByLabel('Uploads', { exact: true }).fill('3')
      await page.getByLabel('Most MB of one upload').fill('1.5')
      await page.getByLabel('The token ends').selectOption('86400')
      await page.getByText('Cluster and expiry of its uploads').click()
      await page.getByLabel('Cluster').selectOption('cl2-de')
      await page.getByRole('button', { name: 'Make the token' }).click()
      const token = (await page.locator('.secret').textContent()) ?? ''
      await page.getByRole('button', { name: 'Done' }).click()
      const friend = new HoldfastClient({ base: server.origin, key: token })
      expect(await friend.files.upload('from a friend')).toMatchObject({ clusterId: 'cl2-de' })
      await expect(friend.files.upload(Buffer.alloc(1_500_001))).rejects.toMatchObject({ code: 'FILE_TOO_LARGE' })
      await open(page, 'overview')
      await open(page, 'upload-tokens')
      const row = page.getByRole('row', { name: /for a friend/ })
      await expect.poll(() => row.textContent()).toMatch(/1\.5 MB each · to cl2-de.*1 of 3/)
      await row.getByRole('button').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click()
      await page.getByText('No upload tokens yet.').waitFor()
      await expect(friend.files.upload('once more')).rejects.toMatchObject({ code: 'INVALID_API_KEY' })
    }))

  test('changes its password, and ends other sessions', () =>
    atDoor(async ({ page, server }) => {
      await server.engine.accounts.create({ email, password, plan: 'premium' })
      const elsewhere = async (): Promise<HoldfastClient> => {
        const session = await new HoldfastClient({ base: server.origin }).sessions.signIn(email, password)
        return new HoldfastClient({ base: server.origin, key: 'token' in session ? session.token : undefined })
      }
      const there = await elsewhere()
      await fillIn(page, password)
      await open(page, 'security')
      await page.getByRole('button', { name: /^End the session of/ }).click()
      await page.getByText('The session has ended', { exact: true }).waitFor()
      await expect(there.account.show()).rejects.toMatchObject({ code: 'INVALID_API_KEY' })
      const [second, third] = [await elsewhere(), await elsewhere()]
      await page.getByRole('button', { name: 'End all others' }).click()
      await page.getByText('All other sessions have ended').waitFor()
      await expect(second.account.show()).rejects.toMatchObject({ code: 'INVALID_API_KEY' })
      await expect(third.account.show()).rejects.toMatchObject({ code: 'INVALID_API_KEY' })
      await page.getByLabel('Current password').fill('not it at all')
      await page.getByLabel('New password').fill('another long password')
      await page.getByRole('button', { name: 'Change it' }).click()
      await page.getByRole('alert').waitFor()
      await page.getByLabel('Current password').fill(password)
      await page.getByRole('button', { name: 'Change it' }).click()
      await page.getByText('Password changed, all other sessions ended').waitFor()
      await page.getByRole('button', { name: 'Sign out' }).click()
      await fillIn(page, 'another long password')
      await page.getByRole('heading', { name: 'Content' }).waitFor()
    }))

  // feature: webhooks
  test('has webhooks, shows their secret once, and lists their deliveries', () =>
    signedIn(
      async ({ page, server }) => {
        await using receiver = await new Receiver().start()
        receiver.answer = response => response.writeHead(500).end()
        await open(page, 'webhooks')
        await page.getByLabel('Address').fill(receiver.url)
        await page.getByRole('button', { name: 'Add' }).click()
        expect((await page.locator('.secret').textContent())?.length).toBeGreaterThan(20)
        await page.getByRole('button', { name: 'Done' }).click()
        await server.engine.pins.upload(Buffer.from('told of'), { account: server.owner })
        await expect.poll(() => receiver.received.length).toBe(1)
        await page.getByRole('button', { name: /^Deliveries to/ }).click()
        const dialog = page.getByRole('dialog')
        await expect
          .poll(async () => {
            // A click aborts the load of the click before.
            const answer = page.waitForResponse('**/deliveries?*')
            await dialog.getByRole('button', { name: 'Look again' }).click()
            await answer
            return dialog.getByRole('listitem').textContent({ timeout: 1_000 })
          })
          .toMatch(/Pin created.*\d attempts? · answered 500 · next in.*waiting/)
        await page.keyboard.press('Escape')
        await page.getByRole('button', { name: /^Remove http/ }).click()
        await dialog.getByText('gets no more events').waitFor()
        await dialog.getByRole('button', { name: 'Remove it' }).click()
        await page.getByText('No webhooks yet.').waitFor()
      },
      { config },
    ))
  // end

  test('offers with a key what the key may do', () =>
    atDoor(async ({ page, server }) => {
      const { secret } = await server.engine.keys.create(server.owner, { name: 'reader', scopes: ['files:read'] })
      await page.getByRole('tab', { name: 'API key' }).click()
      await page.getByLabel('API key', { exact: true }).fill(secret)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page
        .getByLabel('Files', { exact: true })
        .setInputFiles([{ name: 'x', mimeType: 'text/plain', buffer: Buffer.from('x') }])
      await page
        .getByRole('alert')
        .getByText(/files:write/)
        .waitFor()
      await open(page, 'security')
      await page.getByText('You signed in with an API key.').waitFor()
    }))
})

async function fillIn(page: Page, word: string): Promise<void> {
  await page.getByRole('tab', { name: 'Password' }).click()
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(word)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

async function open(page: Page, section: string): Promise<void> {
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  await goTo(page, `account/${section}`)
}

async function endSessions({ origin }: ConsoleServer): Promise<void> {
  const session = await new HoldfastClient({ base: origin }).sessions.signIn(email, password)
  if ('token' in session) await new HoldfastClient({ base: origin, key: session.token }).sessions.endOthers()
}

/** Decodes the QR code on the page. */
async function readQrCode(page: Page): Promise<string | undefined> {
  const { pixels, width } = await page.locator('svg.qr').evaluate(async drawn => {
    const [width, canvas] = [240, document.createElement('canvas')]
    const copy = drawn.cloneNode(true) as SVGElement
    copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
    copy.setAttribute('width', String(width))
    copy.setAttribute('height', String(width))
    const image = new Image()
    image.src = `data:image/svg+xml,${encodeURIComponent(copy.outerHTML)}`
    await image.decode()
    canvas.width = width
    canvas.height = width
    const context = canvas.getContext('2d')
    context?.drawImage(image, 0, 0)
    const { data = new Uint8ClampedArray() } = context?.getImageData(0, 0, width, width) ?? {}
    return {
      width,
      pixels: Array.from({ length: data.length / 4 }, (_, i) => ((data[i * 4] ?? 0) > 127 ? '1' : '0')).join(''),
    }
  })
  const colours = Uint8ClampedArray.from(
    [...pixels].flatMap(pixel => (pixel === '1' ? [255, 255, 255, 255] : [0, 0, 0, 255])),
  )
  return jsQR(colours, width, width)?.data
}
