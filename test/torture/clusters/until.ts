import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { now } from '../account-log.ts'

/** In ms. The lease of an unpin with an unknown outcome lasts a minute, and retries take longer. */
const PATIENCE_MS = 240_000
const LOOK_MS = 100

/** Polls until a condition holds. @throws after four minutes */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const latest = now() + PATIENCE_MS; !(await holds()); await sleep(LOOK_MS)) {
    assert.ok(now() < latest, `waited in vain until ${what}`)
  }
}

/**
 * Polls until nothing is left.
 *
 * @throws if the number has not become smaller for a time, in ms
 */
export async function untilNone(what: string, left: () => Promise<number>, patienceMs = PATIENCE_MS): Promise<void> {
  let fewest = Number.POSITIVE_INFINITY
  for (let latest = 0; ; await sleep(LOOK_MS)) {
    const count = await left()
    if (count === 0) return
    if (count < fewest) latest = now() + patienceMs
    fewest = Math.min(fewest, count)
    assert.ok(now() < latest, `waited in vain until ${what}: ${count} are left`)
  }
}
