import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { allRoutes } from '../../src/features/all-routes.ts'
import { EXAMPLES } from '../../tools/route-examples.ts'
import { routePage } from '../../tools/route-page.ts'

const PAGE = join(import.meta.dirname, '../../docs/reference/routes.md')
/** Routes for browsers, which answer with a page or an image. */
const FOR_BROWSERS = ['GET ', 'GET /favicon.ico']

/**
 * Returns a page with only requests, statuses and fields. Wording of messages may change without an update of the page.
 * A new pin is queued until its fetch starts, which may be before or after the answer. A job ends some steps of the
 * clock after its creation.
 */
function bones(page: string): string {
  return page
    .replaceAll(/"(message|details|reason|label)": ".*"/g, '"$1"')
    .replaceAll(/^[A-Z][^\n`]*\.$/gm, '')
    .replaceAll('"status": "queued"', '"status": "pinning"')
    .replaceAll(/"2030-01-01T00:00:00\.\d{3}Z"/g, '"2030-01-01T00:00:00.000Z"')
}

describe('docs/reference/routes.md', () => {
  test('has an example for each route', async () => {
    const { groups } = await allRoutes()
    const routes = groups.flatMap(({ base, routes }) =>
      routes
        .filter(({ method, isAlias }) => method !== '*' && isAlias !== true)
        .map(({ method, path }) => `${method} ${base}${path}`),
    )
    const shown = EXAMPLES.map(({ route }) => route)
    expect(routes.length).toBeGreaterThan(60)
    expect(routes.filter(route => !shown.includes(route) && !FOR_BROWSERS.includes(route))).toEqual([])
  })

  test('shows the answers that an engine gives (if not: npm run docs)', async () => {
    const page = await routePage()
    expect(bones(readFileSync(PAGE, 'utf8'))).toBe(bones(page))
    expect(page).toMatch(/^201\n\{\n {2}"cid": "bafk/m)
  })
})
