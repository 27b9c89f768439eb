import { type PendingNode, pendingText } from '../../src/domain/pending-nodes.ts'
import type { JsonObject } from '../client/index.ts'
import type { GivenTo } from './all-commands.ts'
import { textOf } from './api-command.ts'
import { print, printJson, printRows } from './output.ts'
import { ownerCommand, pagesOf } from './owner-node.ts'
import { formatTable } from './printed-text.ts'

export const addTakedown = ownerCommand<GivenTo<'takedown add'>>(
  async ({ client, flags, words: [target = ''], json }) => {
    const takedown = { ...readTarget(target), reason: flags.reason, status: flags.status }
    const taken = await client.request('POST', '/takedowns', { json: takedown })
    if (json) printJson(taken)
    else print(withPending(`${placeOf(taken)} is now blocked with ${textOf(taken, 'status')}`, taken))
  },
)

export const removeTakedown = ownerCommand<GivenTo<'takedown remove'>>(
  async ({ client, words: [target = ''], json }) => {
    const { cid, path } = readTarget(target)
    const options = { query: { path: path || undefined } }
    const lifted = await client.request('DELETE', `/takedowns/${encodeURIComponent(cid)}`, options)
    if (json) printJson(lifted)
    else print(withPending(`${target} is no longer blocked`, lifted))
  },
)

export const listTakedowns = ownerCommand<GivenTo<'takedown list'>>(async ({ client, json }) => {
  let head = [['SINCE', 'STATUS', 'CONTENT', 'REASON']]
  for await (const rows of pagesOf(client, '/takedowns', 'takedowns')) {
    const cells = rows.map(row => [
      textOf(row, 'at').slice(0, 10),
      textOf(row, 'status'),
      placeOf(row),
      textOf(row, 'reason'),
    ])
    printRows(rows, json, () => formatTable([...head, ...cells]))
    head = []
  }
})

/** Adds the nodes and threads that may not have noticed a change. */
function withPending(text: string, { pending = [] }: JsonObject): string {
  const left = pendingText(pending as unknown as PendingNode[])
  return left === '' ? text : `${text}\n${left}`
}

function placeOf(row: JsonObject): string {
  return [textOf(row, 'cid'), textOf(row, 'path')].filter(part => part !== '').join('/')
}

/** Parses `CID`, `CID/path` or `/ipfs/CID/path`. */
function readTarget(text: string): { cid: string; path: string } {
  const [cid = '', ...names] = text.replace(/^\/ipfs\//, '').split('/')
  return { cid, path: names.join('/') }
}
