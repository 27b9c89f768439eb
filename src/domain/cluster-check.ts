/**
 * The first is the minimum interval in seconds between two checks. The second is the number of checks that fit into a
 * local grace.
 */
const SHORTEST_SECONDS = 60
const CHECKS_IN_GRACE = 2

/**
 * Returns the interval in ms between the starts of two checks of a remote cluster. It is the configured interval, or
 * half of the local grace if that is shorter. A local grace of 0 does not shorten the interval.
 */
export function checkEveryMs(everyMs: number, graceMs: number): number {
  return graceMs === 0 ? everyMs : Math.min(everyMs, graceMs / CHECKS_IN_GRACE)
}

/** Returns why the configuration prevents checks of a remote cluster, or null if checks are possible. */
export function uncheckable(everyHours: number | undefined, localGraceSeconds: number | undefined): string | null {
  if (everyHours === 0) {
    return 'needs checks of the cluster, which reconcile.everyHours: 0 turns off; set reconcile.everyHours over 0'
  }
  const shortest = CHECKS_IN_GRACE * SHORTEST_SECONDS
  if (localGraceSeconds === undefined || localGraceSeconds === 0 || localGraceSeconds >= shortest) return null
  return `must be 0 or at least ${shortest}: the cluster is checked twice in it, whatever reconcile.everyHours says`
}
