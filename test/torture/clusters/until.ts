import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { now } from '../account-log.ts'

/** An unpin of which the end is unknown is waited out for a minute, and attempts for longer. */
const PATIENCE_MS = 240_000
const LOOK_MS = 100

/** Looks again until something holds. */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const latest = now() + PATIENCE_MS; !(await holds()); await sleep(LOOK_MS)) {
    assert.ok(now() < latest, `it never came about: ${what}`)
  }
}
