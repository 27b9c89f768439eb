import { setTimeout } from 'node:timers/promises'
import type { JsonObject } from '../client/index.ts'
import { numberOf } from './api-command.ts'
import { usageError } from './arguments.ts'
import { print, printJson } from './output.ts'
import { withOwnerNode } from './owner-node.ts'
import { ProgressBar } from './progress-bar.ts'
import type { Environment } from './settings.ts'

const POLL_MS = 2_000

/** Moves the content of a node to another node, and shows the progress until the node has retired. */
export function retireNode(args: readonly string[], env: Environment): Promise<boolean> {
  const grammar = {
    values: ['to'],
    switches: ['no-wait'],
    words: { what: 'the id of a node', min: 1, max: 1 },
  } as const
  return withOwnerNode(args, env, grammar, async ({ node, words: [id = ''], flags, switches, json }) => {
    const to = flags.to
    if (to === undefined) throw usageError('--to: name the node that takes the content')
    await node.retireNode(id, to)
    const of = async (): Promise<JsonObject | undefined> => (await node.nodes()).findLast(one => one.id === id)
    let now = await of()
    const bar = new ProgressBar('moving', numberOf(now ?? {}, 'total'), { format: count => `${count} pins` })
    while (!switches.has('no-wait') && now?.membership === 'retiring') {
      bar.update((numberOf(now, 'total') ?? 0) - (numberOf(now, 'records') ?? 0))
      await setTimeout(POLL_MS)
      now = await of()
    }
    bar.end()
    if (json) printJson(now ?? { id })
    else if (now?.membership === 'retired') print(`${id} has retired: it is empty and may be stopped`)
    else print(`${id} is retiring; "holdfast node list" shows the progress`)
  })
}
