import { setTimeout } from 'node:timers/promises'
import type { JsonObject } from '../client/index.ts'
import { numberOf, textOf } from './api-command.ts'
import { nodeTable } from './node-lines.ts'
import { print, printJson } from './output.ts'
import { withOwnerNode } from './owner-node.ts'
import { formatTable } from './printed-text.ts'
import { ProgressBar } from './progress-bar.ts'
import type { Environment } from './settings.ts'

const POLL_MS = 2_000

export function listNodes(args: readonly string[], env: Environment): Promise<boolean> {
  return withOwnerNode(args, env, { values: [] }, async ({ node, json }) => {
    const nodes = await node.nodes()
    if (json) for (const row of nodes) printJson(row)
    else print(nodes.length === 0 ? 'this node runs alone' : nodeTable(nodes))
  })
}

/** Gives up a node, and shows the progress until it is forgotten. */
export function forgetLostNode(args: readonly string[], env: Environment): Promise<boolean> {
  const grammar = {
    values: [],
    switches: ['replaced', 'no-wait'],
    words: { what: 'the id of a node', min: 1, max: 1 },
  } as const
  return withOwnerNode(args, env, grammar, async ({ node, words: [id = ''], switches, json }) => {
    const before = (await node.nodes()).findLast(one => one.id === id && one.membership !== 'forgotten')
    await node.forgetNode(id, switches.has('replaced'))
    const of = async (): Promise<JsonObject | undefined> =>
      (await node.nodes()).find(({ number }) => number === before?.number)
    let now = await of()
    const bar = new ProgressBar('forgetting', null)
    while (!switches.has('no-wait') && now?.membership === 'forgetting') {
      bar.update((numberOf(now, 'total') ?? 0) - (numberOf(now, 'records') ?? 0))
      await setTimeout(POLL_MS)
      now = await of()
    }
    bar.end()
    if (json) printJson(now ?? { id })
    else if (now?.membership === 'forgotten') print(`${id} is forgotten; "holdfast node lost" lists what nobody has`)
    else print(`${id} is being forgotten; "holdfast node list" shows the progress`)
  })
}

export function listLost(args: readonly string[], env: Environment): Promise<boolean> {
  return withOwnerNode(args, env, { values: ['account'] }, async ({ node, flags, json }) => {
    let isFirst = true
    for await (const rows of node.lostRecords(flags.account)) {
      const cells = rows.map(row =>
        ['account', 'status', 'node', 'cid', 'name', 'reason'].map(name => textOf(row, name)),
      )
      if (json) for (const row of rows) printJson(row)
      else if (rows.length === 0 && isFirst) print('no content was lost with a node')
      else print(formatTable(isFirst ? [['ACCOUNT', 'STATUS', 'NODE', 'CID', 'NAME', 'REASON'], ...cells] : cells))
      isFirst = false
    }
  })
}
