import type { CopyPlace } from '../copies.ts'

/**
 * Returns whether other places are enough without a copy: for each set as many of its nodes as it wants, or all of them, and
 * one at least.
 */
export function isSpared(
  others: readonly Pick<CopyPlace, 'node'>[],
  sets: ReadonlyArray<{ nodes: readonly string[]; copies: number }>,
): boolean {
  const nodes = new Set(others.map(({ node }) => node))
  if (nodes.size === 0) return false
  return sets.every(set => set.nodes.filter(node => nodes.has(node)).length >= Math.min(set.copies, set.nodes.length))
}
