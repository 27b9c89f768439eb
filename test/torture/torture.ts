import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Draws } from '../support/draws.ts'
import { AccountLog, now } from './account-log.ts'
import { emptyOut, findStrays, inspect } from './inspection.ts'
import { Load } from './load.ts'
import { TortureServer } from './torture-server.ts'

export interface TortureOptions {
  rounds: number
  seed: number
  /** Minutes after which no new round begins. */
  minutes?: number | undefined
  progress?: (text: string) => void
}

export interface Tortured {
  rounds: number
  /** Acknowledged requests over all rounds. */
  acknowledged: number
}

/** After this many rounds everything is removed, and the store must be empty. */
const EMPTIED_EVERY = 10
/** The server is killed after at most this many answers, and a delay of at most `LATER_MS`. */
const MOST_ANSWERS = 30
const LATER_MS = 60

/**
 * Loads a server with all kinds of requests, kills it at a random moment, restarts and inspects it, many times. In
 * every third round its disk fails at random.
 *
 * @throws AssertionError for the first broken promise
 */
export async function torture({ rounds, seed, minutes, progress = () => {} }: TortureOptions): Promise<Tortured> {
  const home = await mkdtemp(join(tmpdir(), 'holdfast-torture-'))
  const latest = minutes === undefined ? Number.POSITIVE_INFINITY : now() + minutes * 60_000
  const draws = new Draws(seed)
  const done: Tortured = { rounds: 0, acknowledged: 0 }
  const dataDir = join(home, 'data-0')
  let log = new AccountLog()
  try {
    for (let round = 0; round < rounds && now() < latest; round++) {
      const before = log.acknowledged
      const at = await runUntilKilled(dataDir, log, draws.fork(), round)
      done.acknowledged += log.acknowledged - before
      done.rounds++
      const isLast = round + 1 === rounds || now() >= latest
      const empties = isLast || (round + 1) % EMPTIED_EVERY === 0
      await inspectRound(dataDir, log, at, empties)
      if (empties) log = new AccountLog()
      progress(`round ${round + 1} of ${rounds}: ${done.acknowledged} acknowledged`)
    }
    return done
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

/** Runs the load and kills the server. Resolves with the time of its end. */
async function runUntilKilled(dataDir: string, log: AccountLog, draws: Draws, round: number): Promise<number> {
  const faults = round % 3 === 2 ? draws.below(2 ** 31) : null
  const server = await TortureServer.start(dataDir, { faults })
  const load = new Load(server.client, log, faults !== null)
  try {
    const killed = load.answered(1 + draws.below(MOST_ANSWERS)).then(() => sleep(draws.below(LATER_MS)))
    const running = load.run(draws, `round ${round} ${draws.below(2 ** 31)}`)
    // A failure before the kill ends the round at once.
    await Promise.race([killed, running])
    load.end()
    await server.kill()
    await running
    // Later than any acknowledgement.
    return now() + 2
  } finally {
    load.end()
    await server.kill()
  }
}

async function inspectRound(dataDir: string, log: AccountLog, at: number, empties: boolean): Promise<void> {
  const server = await TortureServer.start(dataDir)
  try {
    const listed = await inspect(server, log, at)
    await findStrays(server, dataDir)
    log.settle(listed)
    if (empties) await emptyOut(server, dataDir)
  } finally {
    await server.kill()
  }
}
