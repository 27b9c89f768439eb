import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Draws } from '../../support/draws.ts'
import { leaveForLong, type Meanwhile, retireAndReplace, shuffled, wipeAndForget } from './membership.ts'
import type { Id, TorturedFleet } from './tortured-fleet.ts'

type Strike = (fleet: TorturedFleet, draws: Draws) => Promise<void>

/** Connections beyond the limit of the database, so that all are taken. */
const MOST_CONNECTIONS = 200

/** Failures under load, each with its end. */
const FAILURES = {
  'kill a': killed('a'),
  'crash the database': async ({ postgres }, draws) => {
    await postgres.crash()
    await away(draws)
    await postgres.start()
  },
  'stop b past its lease': async (fleet, draws) => {
    fleet.node('b').signal('SIGSTOP')
    await away(draws)
    // Moving the times in the database ends the leases of the suspended node at once.
    await fleet.ask("UPDATE holds SET placed_at = placed_at - INTERVAL '1 hour'")
    await fleet.ask("UPDATE jobs SET leased_until = leased_until - INTERVAL '1 hour' WHERE leased_until IS NOT NULL")
    await fleet.node('a').client.json('POST', '/admin/v1/reconcile', { force: true })
    fleet.node('b').signal('SIGCONT')
  },
  'make the database read-only': async (fleet, draws) => {
    await readOnly(fleet, 'on')
    await away(draws)
    await readOnly(fleet, 'off')
  },
  'cut all connections': async (fleet, draws) => {
    for (let times = 1 + draws.below(5); times > 0; times--) {
      await cut(fleet)
      await sleep(draws.below(100))
    }
  },
  'kill c': killed('c'),
  'take all connections': async (fleet, draws) => {
    const taken: pg.Client[] = []
    try {
      await cut(fleet)
      while (taken.length < MOST_CONNECTIONS) taken.push(await fleet.connect())
    } catch {
      // The database refuses further connections. Those of the nodes are cut now.
      await taken[0]?.query(CUT)
      await away(draws)
    } finally {
      await Promise.all(taken.map(client => client.end()))
    }
  },
  'kill all': async (fleet, draws) => killed(...fleet.ids)(fleet, draws),
  'kill two nodes': async (fleet, draws) => {
    const [one, other] = shuffled(fleet, draws)
    await killed(one, other)(fleet, draws)
  },
  'cut a node off': async (fleet, draws) => {
    const [id] = shuffled(fleet, draws)
    await fleet.link(id).refuse()
    await away(draws)
    await fleet.link(id).accept()
  },
  'lose the answers of two nodes': async (fleet, draws) => {
    const [one, other] = shuffled(fleet, draws)
    for (const id of [one, other]) fleet.link(id).drop()
    await away(draws)
    for (const id of [one, other]) fleet.link(id).pass()
  },
} as const satisfies Record<string, Strike>

/** Changes of the nodes, with several restarts. */
const CHANGES = {
  'wipe a node and forget it': withFailure(wipeAndForget),
  'retire a node': withFailure(retireAndReplace),
  'leave for long': withFailure(leaveForLong),
} as const satisfies Record<string, Strike>

/** Each is the blow of a round in turn, so that a few rounds cover all. */
export const BLOWS = { ...FAILURES, ...CHANGES } as const satisfies Record<string, Strike>

/** A round in which the database returns to its state before the load. */
export const SET_BACK = 'set the database back'

export type Blow = keyof typeof BLOWS | typeof SET_BACK
export const ALL_BLOWS: readonly Blow[] = [...(Object.keys(BLOWS) as Array<keyof typeof BLOWS>), SET_BACK]

/** Returns whether a blow takes so long that the load has to be slower. */
export function isLong(blow: Blow): boolean {
  return blow in CHANGES
}

const CUT = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast'`

/** Returns a change of the nodes. In every second one, another failure strikes while the nodes work on it. */
function withFailure(change: (fleet: TorturedFleet, draws: Draws, meanwhile: Meanwhile) => Promise<void>): Strike {
  return (fleet, draws) => {
    const [first, ...others] = Object.values<Strike>(FAILURES)
    const strike = first === undefined || draws.below(2) === 0 ? null : draws.pick([first, ...others])
    return change(fleet, draws, async () => strike?.(fleet, draws.fork()))
  }
}

async function away(draws: Draws): Promise<void> {
  await sleep(draws.below(500))
}

function killed(...ids: readonly Id[]): Strike {
  return async (fleet, draws) => {
    for (const id of ids) await fleet.kill(id)
    await away(draws)
    for (const id of ids) await fleet.start(id)
  }
}

async function cut(fleet: TorturedFleet): Promise<void> {
  await fleet.ask(CUT)
}

async function readOnly(fleet: TorturedFleet, value: 'on' | 'off'): Promise<void> {
  const client = await fleet.connect()
  try {
    await client.query('SET default_transaction_read_only = off')
    await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
    await client.query('SELECT pg_reload_conf()')
  } finally {
    await client.end()
  }
}
