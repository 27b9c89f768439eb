import type { CopyPlace } from '../copies.ts'

/** A node that may keep the content of a cluster, as the database last saw it. */
export interface ClusterMember {
  clusterId: string
  /** Name of the node. */
  node: string
  /** Time since its last heartbeat, in ms. */
  silentMs: number
  /** True if other nodes already copy what it has. */
  isAbsent: boolean
}

/** Returns whether a node is no longer up. */
export function isQuiet({ silentMs }: Pick<ClusterMember, 'silentMs'>): boolean {
  return silentMs >= SILENT_MS
}

/** Time in ms without a heartbeat after which a node is no longer up. */
export const SILENT_MS = 30_000

/**
 * Returns the nodes whose content other nodes should begin to copy, because they are away, and the nodes that have
 * returned since. If several nodes of a cluster are away, an operator must decide.
 *
 * @param afterMs returns the time of a cluster, in ms; undefined for one that the configuration of this node lacks
 * @param unbrokenMs time for which this node has written its own heartbeats without a break
 */
export function absencesIn(
  members: readonly ClusterMember[],
  afterMs: (clusterId: string) => number | undefined,
  unbrokenMs: number,
): { began: ClusterMember[]; ended: ClusterMember[] } {
  const began = [...Map.groupBy(members, ({ clusterId }) => clusterId)].flatMap(([clusterId, all]) => {
    const after = afterMs(clusterId) ?? Number.POSITIVE_INFINITY
    const quiet = all.filter(isQuiet)
    const isClear = quiet.length === 1 && unbrokenMs >= after
    return isClear ? quiet.filter(({ isAbsent, silentMs }) => !isAbsent && silentMs >= after) : []
  })
  return { began, ended: members.filter(one => one.isAbsent && !isQuiet(one)) }
}

/**
 * Returns whether other places are enough without a copy. Each set needs as many of its nodes as it wants, or all of them.
 * At least one place must be left.
 */
export function isSpared(
  others: readonly Pick<CopyPlace, 'node'>[],
  sets: ReadonlyArray<{ nodes: readonly string[]; copies: number }>,
): boolean {
  const nodes = new Set(others.map(({ node }) => node))
  if (nodes.size === 0) return false
  return sets.every(set => set.nodes.filter(node => nodes.has(node)).length >= Math.min(set.copies, set.nodes.length))
}
