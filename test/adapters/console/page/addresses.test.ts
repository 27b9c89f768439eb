import { once } from 'node:events'
import http from 'node:http'
import { describe, expect, test } from 'vitest'
import { inBrowser } from '../../../support/browser.ts'
import { fillInKey } from '../../../support/console-server.ts'
import { consoles } from './opened.ts'

const publicUrl = 'https://pins.example.org/storage'

describe('a console whose public address has a path', inBrowser, () => {
  const { atDoor } = consoles()

  test('works on the machine itself, and behind a proxy', () =>
    atDoor(
      async ({ page, server: { key, origin } }) => {
        await fillInKey(page, key)
        expect(page.url()).toContain(`${origin}/console/`)
        await withProxy(origin, '/storage', async outside => {
          await page.goto(`${outside}/storage/console/`)
          await fillInKey(page, key)
          await page.getByRole('link', { name: 'Node' }).click()
          await page.getByRole('link', { name: 'Accounts' }).click()
          await page.getByRole('row').filter({ hasText: 'owner@localhost' }).waitFor()
          expect(page.url()).toBe(`${outside}/storage/console/#/owner/accounts`)
        })
      },
      { config: { publicUrl, trustedProxies: 1 } },
    ))
})

/** Runs with a proxy that strips a path. */
async function withProxy(target: string, path: string, run: (origin: string) => Promise<void>): Promise<void> {
  const proxy = http.createServer((incoming, outgoing) => {
    const { method, url = '', headers } = incoming
    if (!url.startsWith(`${path}/`)) {
      outgoing.writeHead(404).end()
      return
    }
    const told = {
      ...headers,
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': headers.host,
    }
    const onward = http.request(target + url.slice(path.length), { method, headers: told }, answer => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  try {
    await run(`http://127.0.0.1:${(proxy.address() as { port: number }).port}`)
  } finally {
    proxy.closeAllConnections()
    proxy.close()
  }
}
