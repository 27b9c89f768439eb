import { formatTable } from './printed-text.ts'

interface KeyRow {
  name: string
  prefix: string
  scopes: readonly string[]
  lastUsedAt: string | null
  expiresAt: string | null
}

export function keyTable(rows: readonly KeyRow[]): string {
  const header = ['NAME', 'BEGINS', 'LAST USED', 'EXPIRES', 'SCOPES']
  const cells = rows.map(({ name, prefix, lastUsedAt, expiresAt, scopes }) => [
    name,
    prefix,
    day(lastUsedAt) ?? 'never',
    day(expiresAt) ?? 'never',
    scopes.join(', '),
  ])
  return formatTable([header, ...cells])
}

function day(time: string | null): string | undefined {
  return time?.slice(0, 10)
}
