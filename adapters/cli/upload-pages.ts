import type { ApiClient, JsonObject } from './api-client.ts'
import { listOf, numberOf, textOf } from './api-command.ts'

/** As large as most plans let a page be; one that lets it be less answers with less. */
const PAGE_ROWS = 100

/**
 * All pages, none of them empty. What is uploaded meanwhile pushes rows from one page to the next: they are given once.
 */
export async function* uploadPages(
  client: ApiClient,
  query: Readonly<Record<string, string | undefined>> = {},
): AsyncGenerator<JsonObject[], void> {
  let before = new Set<string>()
  for (let page = 1; ; page++) {
    const paging = { page: String(page), limit: String(PAGE_ROWS) }
    const answer = await client.request('GET', '/users/me/uploads', { query: { ...query, ...paging } })
    const rows = listOf(answer, 'uploads')
    const fresh = rows.filter(row => !before.has(identity(row)))
    if (fresh.length > 0) yield fresh
    before = new Set(rows.map(identity))
    const pagination = answer.pagination as JsonObject | undefined
    // The server may hold a page to fewer rows than were asked for.
    const limit = (pagination && numberOf(pagination, 'limit')) ?? Math.max(rows.length, 1)
    if (rows.length === 0 || page * limit >= (numberOf(answer, 'total') ?? 0)) return
  }
}

function identity(row: JsonObject): string {
  return ['uploadId', 'cid', 'path', 'createdAt'].map(name => textOf(row, name)).join(' ')
}
