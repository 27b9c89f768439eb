import { describe, expect, test } from 'vitest'
import { inBrowser } from '../../../../support/browser.ts'
import type { ConsoleServer } from '../../../../support/console-server.ts'
import { consoles } from '../opened.ts'

const PINS = 10_000
/** Uploads at once, which share a transaction. */
const AT_ONCE = 100

describe('all matching pins in the console', { ...inBrowser, timeout: 300_000 }, () => {
  const { signedIn } = consoles()

  test('are deleted by one request and restored by another, unchanged', () =>
    signedIn(async ({ page, server }) => {
      await fill(server)
      await server.engine.pins.upload(Buffer.from('other'), { account: server.owner, name: 'other' })
      const before = await recordsOf(server)
      const writes: string[] = []
      page.on('request', request => {
        if (request.method() !== 'GET') writes.push(`${request.method()} ${new URL(request.url()).pathname}`)
      })
      await page.getByLabel('Search').fill('pin')
      await page.getByRole('heading', { name: 'Pins 10,000' }).waitFor()
      await page.getByRole('checkbox', { name: 'Select all on this page' }).click()
      await page.getByRole('button', { name: 'Select all 10,000 pins that match' }).click()
      await page.getByRole('button', { name: 'Delete…' }).click()
      await page.getByRole('button', { name: 'Delete 10,000 pins' }).click()
      await page.getByText('10,000 pins deleted').waitFor({ timeout: 120_000 })
      await page.getByText('No pins match these filters.').waitFor()
      expect((await recordsOf(server)).map(({ name }) => name)).toEqual(['other'])
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByText('10,000 pins restored').waitFor({ timeout: 120_000 })
      await page.getByRole('heading', { name: 'Pins 10,000' }).waitFor()
      expect(writes.map(write => write.replace(/jobs\/[^/]+/, 'jobs/<id>'))).toEqual([
        'POST /api/v3/jobs',
        'POST /api/v3/jobs/<id>/undo',
      ])
      expect(await recordsOf(server)).toEqual(before)
    }))
})

async function fill({ engine, owner }: ConsoleServer): Promise<void> {
  for (let first = 0; first < PINS; first += AT_ONCE) {
    const names = Array.from({ length: AT_ONCE }, (_, at) => `pin ${first + at}`)
    await Promise.all(names.map(name => engine.pins.upload(Buffer.from(name), { account: owner, name })))
  }
}

async function recordsOf({ engine, owner }: ConsoleServer) {
  const records = []
  for (let page = 1, pages = 1; page <= pages; page++) {
    const { items, total } = await engine.pins.list({ account: owner, page, limit: 1_000 })
    records.push(...items)
    pages = Math.ceil(total / 1_000)
  }
  return records
}
