import type { CopyPlace } from '../copies.ts'

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
