import type { HoldfastClient, JsonObject } from '../client/index.ts'
import type { GivenTo } from './all-commands.ts'
import { cellsOf, listOf, numberOf, textOf } from './api-command.ts'
import { nodeTable, waitsOf } from './node-lines.ts'
import { print, printJson, printRows } from './output.ts'
import { ownerCommand, pagesOf } from './owner-node.ts'
import { formatTable } from './printed-text.ts'
import { ProgressBar } from './progress-bar.ts'
import { sleep } from './real-time.ts'

const POLL_MS = 2_000

async function nodesOf(client: HoldfastClient): Promise<JsonObject[]> {
  return listOf(await client.request('GET', '/nodes'), 'nodes')
}

export const listNodes = ownerCommand<GivenTo<'node list'>>(async ({ client, json }) => {
  const nodes = await nodesOf(client)
  printRows(nodes, json, () => (nodes.length === 0 ? 'this node runs alone' : nodeTable(nodes)))
})

/** Moves the content of a node to another node, and shows the progress until the node has retired. */
export const retireNode = ownerCommand<GivenTo<'node retire'>>(async ({ client, words: [id = ''], flags, json }) => {
  await client.request('POST', `/nodes/${encodeURIComponent(id)}/retire`, { json: { to: flags.to } })
  const now = async () => (await nodesOf(client)).findLast(one => one.id === id)
  const found = await (flags['no-wait'] ? now() : ended(now, 'retiring', 'moving'))
  if (json) printJson(found ?? { id })
  else if (found?.membership === 'retired') print(`${id} has retired: it is empty and may be stopped`)
  else print([`${id} is retiring; "holdfast node list" shows the progress`, ...waitsOf(found ?? {})].join('\n'))
})

/** Gives up a node, and shows the progress until it is forgotten. */
export const forgetLostNode = ownerCommand<GivenTo<'node forget'>>(
  async ({ client, words: [id = ''], flags, json }) => {
    const before = (await nodesOf(client)).findLast(one => one.id === id && one.membership !== 'forgotten')
    const options = { json: { isReplaced: flags.replaced } }
    await client.request('POST', `/nodes/${encodeURIComponent(id)}/forget`, options)
    // A new node may have the id meanwhile.
    const now = async () => (await nodesOf(client)).find(({ number }) => number === before?.number)
    const found = await (flags['no-wait'] ? now() : ended(now, 'forgetting', 'forgetting'))
    if (json) printJson(found ?? { id })
    else if (found?.membership === 'forgotten') print(`${id} is forgotten; "holdfast node lost" lists what nobody has`)
    else print(`${id} is being forgotten; "holdfast node list" shows the progress`)
  },
)

/** Has other nodes copy what nodes have that stay away. */
export const confirmNodesAway = ownerCommand<GivenTo<'node away'>>(async ({ client, words, json }) => {
  const noted = await client.request('POST', '/nodes/away', { json: { nodes: words } })
  if (json) printJson(noted)
  else print('other nodes copy what these nodes have; "holdfast node list" shows the progress')
})

/** Lets records be private in a database of an earlier version. */
export const enablePrivate = ownerCommand<GivenTo<'visibility enable'>>(async ({ client, json }) => {
  const enabled = await client.request('POST', '/visibility')
  if (json) printJson(enabled)
  else print('records may be private; earlier versions refuse this database from now on')
})

/** Shows the progress of a node until it has another membership. Returns the node as it is then. */
async function ended(
  find: () => Promise<JsonObject | undefined>,
  membership: 'retiring' | 'forgetting',
  label: string,
): Promise<JsonObject | undefined> {
  let node = await find()
  let told = ''
  const id = textOf(node ?? {}, 'id')
  const total = numberOf(node ?? {}, 'total') ?? 0
  const bar = new ProgressBar(label, total, { format: count => `${count} pins` })
  for (; node?.membership === membership; node = await find()) {
    bar.update(total - (numberOf(node, 'records') ?? 0))
    const waits = waitsOf(node).join('; ')
    if (waits !== '' && waits !== told) process.stderr.write(`${id}: ${waits}\n`)
    told = waits
    await sleep(POLL_MS)
  }
  bar.end()
  return node
}

export const listLost = ownerCommand<GivenTo<'node lost'>>(async ({ client, flags, json }) => {
  let head = [['ACCOUNT', 'STATUS', 'NODE', 'CID', 'NAME', 'REASON']]
  for await (const rows of pagesOf(client, '/lost', 'records', { account: flags.account, limit: '1000' })) {
    const cells = [...head, ...cellsOf(rows, ['account', 'status', 'node', 'cid', 'name', 'reason'])]
    const isEmpty = rows.length === 0 && head.length > 0
    printRows(rows, json, () => (isEmpty ? 'no content was lost with a node' : formatTable(cells)))
    head = []
  }
})
