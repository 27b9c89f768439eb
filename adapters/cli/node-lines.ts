import type { JsonObject } from '../client/index.ts'
import { numberOf, textOf } from './api-command.ts'
import { formatBytes, formatTable } from './printed-text.ts'

export function nodeTable(nodes: readonly JsonObject[]): string {
  const rows = nodes.map(node => [
    textOf(node, 'id'),
    textOf(node, 'number'),
    textOf(node, 'membership'),
    textOf(node, 'state'),
    node.isLocked === true ? 'running' : 'free',
    typeof node.seenAt === 'string' ? node.seenAt.slice(0, 19) : 'never',
    recordsOf(node),
    formatBytes(numberOf(node, 'bytes') ?? 0),
  ])
  const waits = nodes.flatMap(node => waitsOf(node).map(wait => `${textOf(node, 'id')}: ${wait}`))
  const table = formatTable([['ID', 'NUMBER', 'MEMBERSHIP', 'STATE', 'LOCK', 'LAST SIGN', 'RECORDS', 'BYTES'], ...rows])
  return [table, ...waits].join('\n')
}

/** Returns what a node waits for. */
export function waitsOf({ waits }: JsonObject): string[] {
  return Array.isArray(waits) ? waits.map(String) : []
}

/** Shows the records of a node, and of how many while it retires or is being forgotten. */
function recordsOf(node: JsonObject): string {
  const total = numberOf(node, 'total')
  return total === null ? textOf(node, 'records') : `${textOf(node, 'records')} of ${total}`
}
