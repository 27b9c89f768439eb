export const nodeHelp = (owner: string) => ({
  node: `Usage: holdfast node list [flags]

Each has its own --help.`,

  'node list': `Usage: holdfast node list [flags]

Lists the nodes of a fleet, also those that have ended. MEMBERSHIP is active, retiring, retired, forgetting or
forgotten. LOCK is "running" while a process runs as the node.

${owner}`,
})
