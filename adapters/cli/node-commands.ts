import { nodeTable } from './node-lines.ts'
import { print, printJson } from './output.ts'
import { withOwnerNode } from './owner-node.ts'
import type { Environment } from './settings.ts'

export function listNodes(args: readonly string[], env: Environment): Promise<boolean> {
  return withOwnerNode(args, env, { values: [] }, async ({ node, json }) => {
    const nodes = await node.nodes()
    if (json) for (const row of nodes) printJson(row)
    else print(nodes.length === 0 ? 'this node runs alone' : nodeTable(nodes))
  })
}
