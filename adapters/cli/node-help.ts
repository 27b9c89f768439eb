export const nodeHelp = (owner: string) => ({
  node: `Usage: holdfast node list|retire [flags]

Each has its own --help.`,

  'node list': `Usage: holdfast node list [flags]

Lists the nodes of a fleet, also those that have ended. MEMBERSHIP is active, retiring, retired, forgetting or
forgotten. LOCK is "running" while a process runs as the node.

${owner}`,

  'node retire': `Usage: holdfast node retire ID --to OTHER [flags]

Moves the content of a node to another node, and waits until the node is empty. All pins stay pinned and readable. Both
nodes must run. First set "node" of its clusters to the other node, and restart all nodes. If the command is
interrupted, the move continues; repeat the command to wait again.

  holdfast node retire c --to b

  --to OTHER       the id of the node that takes the content
  --no-wait        do not wait
${owner}`,
})
