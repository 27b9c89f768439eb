import {
  type AccountStore,
  AUDIT_ACTORS,
  AUDIT_VISITED,
  type AuditRow,
  type AuditStore,
  type NewAuditEntry,
} from '../../../src/catalogue/index.ts'

type Stored = Omit<AuditRow, 'email'> & Pick<NewAuditEntry, 'key'>

/** Creates an audit log in memory. */
export function memoryAudit(accounts: Pick<AccountStore, 'get'>): AuditStore {
  let rows: Stored[] = []
  let made = 0
  return {
    async add(entries, { oldest, mostEntries }) {
      for (const { more, ...entry } of entries) {
        const former = rows.find(({ key }) => key === entry.key)
        if (former === undefined) rows.push({ ...entry, id: ++made })
        else Object.assign(former, { times: former.times + more, lastAt: entry.lastAt })
      }
      const kept = new Set(AUDIT_ACTORS.flatMap(actor => rows.filter(row => row.actor === actor).slice(-mostEntries)))
      rows = rows.filter(row => kept.has(row) && row.createdAt >= oldest)
    },
    async list({ from, until, ...filter }, { after, limit }) {
      const given = Object.entries(filter).filter(([, value]) => value !== undefined)
      const [first, ...others] = given.toSorted(([a], [b]) => (a < b ? -1 : 1))
      const matches = (row: Stored, [field, value]: [string, unknown]): boolean => row[field as 'action'] === value
      const [at = Infinity, id = Infinity] = after?.split(':').map(Number) ?? []
      const listed = rows
        .toSorted((a, b) => b.createdAt - a.createdAt || b.id - a.id)
        .filter(row => row.createdAt >= from && row.createdAt < until && (first === undefined || matches(row, first)))
        .filter(row => row.createdAt < at || (row.createdAt === at && row.id < id))
      const visited = listed.slice(0, others.length === 0 ? limit : Math.max(limit, AUDIT_VISITED))
      const found = visited.filter(row => others.every(one => matches(row, one)))
      const shown = found.slice(0, limit)
      const isMore = found.length > limit || visited.length < listed.length
      const last = found.length > limit ? shown.at(-1) : visited.at(-1)
      const shownRows = shown.map(async ({ key: _, ...row }) => {
        return { ...row, email: row.accountId === null ? null : ((await accounts.get(row.accountId))?.email ?? null) }
      })
      return { rows: await Promise.all(shownRows), next: isMore ? `${last?.createdAt}:${last?.id}` : null }
    },
  }
}
