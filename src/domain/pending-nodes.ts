/** A node, or a thread of a node, that has not confirmed a change yet. */
export interface PendingNode {
  /** The configured id of the node. Null for a node without one. */
  node: string | null
  /** Number of a gateway thread. Null for the node as a whole. */
  thread: number | null
}

/** Returns a sentence about the nodes and threads that have not confirmed a change. Empty if all have. */
export function pendingText(pending: readonly PendingNode[]): string {
  if (pending.length === 0) return ''
  return `Not confirmed yet by ${pending.map(nameOf).join(', ')}.`
}

function nameOf({ node, thread }: PendingNode): string {
  const place = node === null ? 'this node' : `the node ${node}`
  return thread === null ? place : `thread ${thread} of ${place}`
}
