import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Draws } from '../../support/draws.ts'
import { AccountLog, now } from '../account-log.ts'
import { inspect } from '../inspection.ts'
import { Load } from '../load.ts'
import type { Tortured, TortureOptions } from '../torture.ts'
import { ALL_BLOWS, BLOWS, type Blow, SET_BACK } from './blows.ts'
import { checkEmptied, inspectNodes } from './fleet-inspection.ts'
import { clusterOf, IDS, TorturedFleet } from './tortured-fleet.ts'

/** A failure strikes after at most this many answers and a delay of at most `LATER_MS`. The load goes on afterwards. */
const MOST_ANSWERS = 25
const LATER_MS = 60
const ANSWERS_AFTER = 8
/** Longest load after a failure. */
const AFTER_MS = 5_000
/** Difference between the clocks of a node and the test, and some time for the removal of expired records. */
const SKEW_MS = 2_000

/**
 * Loads three nodes on one database with requests for the cluster of each node and of its neighbour. It kills nodes or
 * the database, suspends a node past its leases, and so on, under load. It inspects all nodes after each round.
 *
 * @throws AssertionError for the first broken promise
 */
export async function tortureFleet({ rounds, seed, minutes, progress = () => {} }: TortureOptions): Promise<Tortured> {
  const home = await mkdtemp(join(tmpdir(), 'holdfast-torture-fleet-'))
  const latest = minutes === undefined ? Number.POSITIVE_INFINITY : now() + minutes * 60_000
  const draws = new Draws(seed)
  const done: Tortured = { rounds: 0, acknowledged: 0 }
  const fleet = await TorturedFleet.open(home)
  try {
    const first = draws.below(ALL_BLOWS.length)
    const log = new AccountLog(SKEW_MS)
    for (let round = 0; round < rounds && now() < latest; round++) {
      const before = log.acknowledged
      const blow = ALL_BLOWS[(first + round) % ALL_BLOWS.length] ?? SET_BACK
      const at = await runRound({ fleet, log, blow }, draws.fork(), round)
      done.acknowledged += log.acknowledged - before
      done.rounds++
      const listed = await inspect(fleet.node('a'), log, at)
      await inspectNodes(fleet)
      log.settle(listed)
      progress(`round ${round + 1} of ${rounds}, ${blow}: ${done.acknowledged} acknowledged`)
    }
    await checkEmptied(fleet)
    return done
  } finally {
    await fleet.close()
    await rm(home, { recursive: true, force: true })
  }
}

interface Struck {
  fleet: TorturedFleet
  log: AccountLog
  blow: Blow
}

/** Runs the load and one failure. Resolves when all nodes run again, with a time later than any acknowledgement. */
async function runRound({ fleet, log, blow }: Struck, draws: Draws, round: number): Promise<number> {
  await fleet.startAll()
  if (blow !== SET_BACK) {
    await underLoad({ fleet, log, label: `round ${round}` }, draws, async () => BLOWS[blow](fleet, draws))
    return now() + 2
  }
  const setBack = await fleet.postgres.snapshot()
  const from = now()
  await underLoad({ fleet, log, label: `round ${round}` }, draws, async () => undefined)
  await setBack()
  log.undo(from, now())
  await underLoad({ fleet, log, label: `round ${round} later` }, draws, async () => undefined)
  return now() + 2
}

/** Runs requests, and in the middle a failure. */
async function underLoad(
  { fleet, log, label }: { fleet: TorturedFleet; log: AccountLog; label: string },
  draws: Draws,
  strike: () => Promise<void>,
): Promise<void> {
  const loads = IDS.flatMap((through, i) =>
    [through, IDS[(i + 1) % IDS.length] ?? through].map(
      id => new Load(fleet.node(through).clientOf(clusterOf(id)), log, false, true),
    ),
  )
  const answered = (each: number) => Promise.race(loads.map(load => load.answered(each)))
  try {
    const soon = answered(1 + draws.below(MOST_ANSWERS)).then(() => sleep(draws.below(LATER_MS)))
    const running = Promise.all(loads.map((load, i) => load.run(draws.fork(), `${label} ${i} ${draws.below(2 ** 31)}`)))
    await Promise.race([soon, running])
    await strike()
    await Promise.race([answered(MOST_ANSWERS + ANSWERS_AFTER), running, sleep(AFTER_MS)])
    for (const load of loads) load.end()
    await running
  } finally {
    for (const load of loads) load.end()
  }
}
