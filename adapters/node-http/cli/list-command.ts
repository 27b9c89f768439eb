import type { ApiClient, JsonObject } from './api-client.ts'
import { listOf, numberOf, textOf, withApi } from './api-command.ts'
import { print, printJson } from './output.ts'
import type { Environment } from './settings.ts'
import { formatBytes, formatTable } from './text.ts'

/** As large as most plans let a page be; one that lets it be less answers with less. */
const PAGE_ROWS = 100

/** `ls`: uploads, or with a CID the files of that directory. */
export function list(args: readonly string[], env: Environment): Promise<boolean> {
  const grammar = { values: ['cid'], switches: ['expiring'], words: { what: '', min: 0, max: 1 } } as const
  return withApi(args, env, grammar, async ({ client, flags, switches, words: [directory], json }) => {
    const query = {
      parentCid: directory,
      cid: flags.cid,
      hasExpiration: switches.has('expiring') ? 'true' : undefined,
    }
    let isFirst = true
    for await (const rows of pages(client, query)) {
      if (json) for (const row of rows) printJson(row)
      else printRows(rows, directory === undefined, isFirst)
      isFirst = false
    }
  })
}

/**
 * All pages, none of them empty. What is uploaded meanwhile pushes rows from one page to the next: they are given once.
 */
async function* pages(
  client: ApiClient,
  query: Readonly<Record<string, string | undefined>>,
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

function printRows(rows: readonly JsonObject[], areUploads: boolean, withHeader: boolean): void {
  const header = areUploads
    ? ['CID', 'SIZE', 'STATUS', 'CLUSTER', 'UPLOADED', 'EXPIRES', 'NAME']
    : ['CID', 'SIZE', 'PATH']
  const cells = rows.map(row => {
    const size = numberOf(row, 'size')
    const first = [textOf(row, 'cid'), size === null ? '' : formatBytes(size)]
    if (!areUploads) return [...first, textOf(row, 'path')]
    const times = [shortTime(textOf(row, 'createdAt')), shortTime(textOf(row, 'expiresAt')) || 'never']
    return [...first, textOf(row, 'status'), textOf(row, 'clusterId'), ...times, textOf(row, 'name')]
  })
  print(formatTable(withHeader ? [header, ...cells] : cells, new Set([1])))
}

/** To the minute, UTC. */
function shortTime(iso: string): string {
  return iso === '' ? '' : iso.slice(0, 16).replace('T', ' ')
}
