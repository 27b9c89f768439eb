import type { ListedUpload } from '../client/index.ts'
import { numberOf, textOf, withApi } from './api-command.ts'
import { print, printJson } from './output.ts'
import type { Environment } from './settings.ts'
import { formatBytes, formatTable } from './text.ts'

/** `ls`: uploads, or with a CID the files of that directory. */
export function list(args: readonly string[], env: Environment): Promise<boolean> {
  const grammar = { values: ['cid'], switches: ['expiring'], words: { what: '', min: 0, max: 1 } } as const
  return withApi(args, env, grammar, async ({ client, flags, switches, words: [directory], json }) => {
    const wanted = { parentCid: directory, cid: flags.cid, expiring: switches.has('expiring') }
    let isFirst = true
    for await (const rows of client.pins.pages(wanted)) {
      if (json) for (const row of rows) printJson(row)
      else printRows(rows, directory === undefined, isFirst)
      isFirst = false
    }
  })
}

function printRows(rows: readonly ListedUpload[], areUploads: boolean, withHeader: boolean): void {
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
