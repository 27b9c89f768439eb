export const nodeHelp = (owner: string) => ({
  node: `Usage: holdfast node list|retire|forget|lost [flags]

Each has its own --help.`,

  'node list': `Usage: holdfast node list [flags]

Lists the nodes of a fleet, also those that have ended. MEMBERSHIP is active, retiring, retired, forgetting or
forgotten. LOCK is "running" while a process runs as the node.

${owner}`,

  'node retire': `Usage: holdfast node retire ID --to OTHER [flags]

Moves the content of a node to another node, and waits until the node is empty. All pins stay pinned and readable. Both
nodes must run. First set "node" of its clusters to the other node, and restart all nodes. The command names the
clusters of the records that move. If it is interrupted, the move continues; repeat the command to wait again.

  holdfast node retire c --to b

  --to OTHER       the id of the node that takes the content
  --no-wait        do not wait
${owner}`,

  'node forget': `Usage: holdfast node forget ID [flags]

Gives up a node whose disk is gone, and waits until other nodes have taken over its records. Content that they, a cluster
on another system or the network have is fetched again. Content that nobody has becomes failed.
Refused while a process runs as the node. First set "node" of its clusters to other nodes, and restart all nodes.

  holdfast node forget c

  --replaced       a new, empty data directory will run under the id, and take over the clusters
  --no-wait        do not wait
${owner}`,

  'node lost': `Usage: holdfast node lost [flags]

Lists the records whose content was lost with a node, by account, until their content is complete again.

  --account ID     only those of an account
${owner}`,
})
