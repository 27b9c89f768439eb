const SHORTEST_SECONDS = 60
const CHECKS_IN_GRACE = 2

/**
 * Returns the interval in ms between the starts of two checks: the configured interval, or half of a shorter local
 * grace. A local grace of 0 does not shorten the interval.
 */
export function checkEveryMs(everyMs: number, graceMs: number): number {
  return graceMs === 0 ? everyMs : Math.min(everyMs, graceMs / CHECKS_IN_GRACE)
}

/** Returns why the configuration prevents checks, or null. */
export function uncheckable(everyHours: number | undefined, localGraceSeconds: number | undefined): string | null {
  if (everyHours === 0) {
    return 'needs checks of the cluster, which reconcile.everyHours: 0 turns off; set reconcile.everyHours over 0'
  }
  const shortest = CHECKS_IN_GRACE * SHORTEST_SECONDS
  if (localGraceSeconds === undefined || localGraceSeconds === 0 || localGraceSeconds >= shortest) return null
  return `must be 0 or at least ${shortest}: the cluster is checked twice in it, whatever reconcile.everyHours says`
}
