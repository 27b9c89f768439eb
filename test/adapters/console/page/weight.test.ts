import { describe, expect, test } from 'vitest'
import { inBrowser } from '../../../support/browser.ts'
import { consoles } from './opened.ts'

/** Most compressed bytes of the whole page. */
const MOST_BYTES = 100_000

describe('the console', inBrowser, () => {
  const { atDoor } = consoles()

  test('weighs less than 100 KB on the wire', () =>
    atDoor(async ({ page }) => {
      const session = await page.context().newCDPSession(page)
      await session.send('Network.enable')
      await session.send('Network.setCacheDisabled', { cacheDisabled: true })
      let bytes = 0
      let answers = 0
      // Bodies only, because the server decides the headers.
      page.on('response', response => {
        bytes += Number(response.headers()['content-length'])
        answers++
      })
      await page.reload({ waitUntil: 'networkidle' })
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      expect(answers).toBeGreaterThan(2)
      expect(bytes).toBeLessThan(MOST_BYTES)
    }))
})
