import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Draws } from '../../support/draws.ts'
import { now } from '../account-log.ts'
import { inspectAccount } from '../inspection.ts'
import { Load, WORKERS } from '../load.ts'
import type { Tortured, TortureOptions } from '../torture.ts'
import { ALL_BLOWS, BLOWS, type Blow, isLong, SET_BACK } from './blows.ts'
import { checkEmptied, inspectNodes } from './fleet-inspection.ts'
import { settleLoss } from './lost-records.ts'
import { type FleetSize, type Id, type Tenant, TorturedFleet } from './tortured-fleet.ts'

/** A failure strikes after at most this many answers and a delay of at most `LATER_MS`. The load goes on afterwards. */
const MOST_ANSWERS = 25
const LATER_MS = 60
const ANSWERS_AFTER = 8
/** Longest load after a failure. */
const AFTER_MS = 5_000
/** Pause of each client after a step, while nodes leave and join. */
const PAUSE_MS = 100

/**
 * Loads nodes on one database with requests for the cluster of each node and of its neighbour. It kills nodes or
 * the database, suspends a node past its leases, and so on, under load. It inspects all nodes after each round.
 *
 * @throws AssertionError for the first broken promise
 */
export async function tortureFleet(
  { rounds, seed, minutes, progress = () => {} }: TortureOptions,
  { blows = ALL_BLOWS, ...size }: FleetSize & { blows?: readonly Blow[] } = { nodes: 3, copies: 1 },
): Promise<Tortured> {
  const home = await mkdtemp(join(tmpdir(), 'holdfast-torture-fleet-'))
  const latest = minutes === undefined ? Number.POSITIVE_INFINITY : now() + minutes * 60_000
  const draws = new Draws(seed)
  const done: Tortured = { rounds: 0, acknowledged: 0 }
  const fleet = await TorturedFleet.open(home, size)
  try {
    const first = draws.below(blows.length)
    for (let round = 0; round < rounds && now() < latest; round++) {
      const before = acknowledged(fleet)
      const blow = blows[(first + round) % blows.length] ?? SET_BACK
      const began = now()
      await runRound({ fleet, blow }, draws.fork(), round)
      const ended = now()
      done.acknowledged += acknowledged(fleet) - before
      done.rounds++
      const loss = await settleLoss(fleet)
      const at = now() + 2
      const listed = new Map<Tenant, ReadonlySet<string>>()
      for (const tenant of fleet.tenants) {
        listed.set(tenant, await inspectAccount(fleet.clientOf(tenant), tenant.log, at, clientsOf(fleet)))
      }
      await inspectNodes(fleet)
      for (const [{ log }, cids] of listed) log.settle(cids)
      const times = `${seconds(began, ended)} s, inspected in ${seconds(ended, now())} s`
      progress(`round ${round + 1} of ${rounds}, ${blow}: ${done.acknowledged} acknowledged${loss}; ${times}`)
    }
    await checkEmptied(fleet)
    return done
  } finally {
    await fleet.close()
    await rm(home, { recursive: true, force: true })
  }
}

/** Returns the number of concurrent clients of each account. */
function clientsOf({ ids }: TorturedFleet): number {
  return ids.length * WORKERS
}

function acknowledged(fleet: TorturedFleet): number {
  return fleet.tenants.reduce((sum, { log }) => sum + log.acknowledged, 0)
}

function seconds(from: number, to: number): number {
  return Math.round((to - from) / 1_000)
}

interface Struck {
  fleet: TorturedFleet
  blow: Blow
}

/** Runs the load and one failure. Resolves when all nodes run again. */
async function runRound({ fleet, blow }: Struck, draws: Draws, round: number): Promise<void> {
  await fleet.startAll()
  const pauseMs = isLong(blow) ? PAUSE_MS : 0
  const label = `round ${round}`
  if (blow !== SET_BACK) {
    return underLoad({ fleet, label, first: 0, pauseMs }, draws, async () => BLOWS[blow](fleet, draws))
  }
  const setBack = await fleet.postgres.snapshot()
  const from = now()
  // New clients keep the earlier content: the restored records of removed content have none.
  const first = (round + 1) * 2 * clientsOf(fleet)
  await underLoad({ fleet, label, first, pauseMs }, draws, async () => undefined)
  await setBack()
  for (const { log } of fleet.tenants) log.undo(from, now())
  await underLoad({ fleet, label: `${label} later`, first, pauseMs }, draws, async () => undefined)
}

interface Loaded {
  fleet: TorturedFleet
  /** Prefix of the names and contents. */
  label: string
  /** Number of the first client. */
  first: number
  /** Pause of each client after a step, in ms. */
  pauseMs: number
}

/** Runs requests, and in the middle a failure. */
async function underLoad(
  { fleet, label, first, pauseMs }: Loaded,
  draws: Draws,
  strike: () => Promise<void>,
): Promise<void> {
  const [owner, guest] = fleet.tenants
  // Through each node the owner stores in its cluster, and the guest in that of its neighbour, partly the same content.
  const loads = fleet.ids.flatMap((through, i) => {
    const common = `${label} common ${i}`
    const load = (tenant: Tenant, cluster: Id): Load => {
      const extras = { common, theirs: [], isGuest: tenant === guest, first: first + i * WORKERS, pauseMs }
      return new Load(fleet.clientOf(tenant, through, cluster), tenant.log, false, true, extras)
    }
    return [load(owner, through), load(guest, fleet.ids[(i + 1) % fleet.ids.length] ?? through)]
  })
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
