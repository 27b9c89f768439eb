import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Draws } from '../../support/draws.ts'
import { AccountLog, now } from '../account-log.ts'
import { findStrays, inspect } from '../inspection.ts'
import { Load } from '../load.ts'
import { TortureServer } from '../torture-server.ts'
import { Replay } from './replay.ts'
import { readCalls, type SystemCall, straceCommand } from './system-calls.ts'

export interface PowerCutOptions {
  /** Number of power cuts. */
  rounds: number
  seed: number
  progress?: (text: string) => void
}

export interface PowerCuts {
  rounds: number
  /** Acknowledged contents that read back whole, over all cuts. */
  readBack: number
}

/** A recording is expensive and a replay cheap, so each recording is cut several times. */
const CUTS_PER_RECORDING = 4
const MOST_ANSWERS = 80

/** Returns true if this machine can trace the system calls of a process. */
export function canRecord(): boolean {
  try {
    execFileSync('strace', [
      '-f',
      '--seccomp-bpf',
      '-e',
      'trace=close',
      '-o',
      '/dev/null',
      process.execPath,
      '--version',
    ])
    return true
  } catch {
    return false
  }
}

/**
 * Records every write of a real server below SQLite, and cuts the power at random moments. A disk with only the synced
 * data is built, and a server started on it is inspected.
 *
 * @throws AssertionError for the first broken promise
 */
export async function cutPower({ rounds, seed, progress = () => {} }: PowerCutOptions): Promise<PowerCuts> {
  const draws = new Draws(seed)
  const done: PowerCuts = { rounds: 0, readBack: 0 }
  while (done.rounds < rounds) {
    const home = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-power-cut-')))
    try {
      const { calls, log } = await recorded(home, draws.fork())
      for (let cut = 0; cut < CUTS_PER_RECORDING && done.rounds < rounds; cut++, done.rounds++) {
        // The first cut comes after the last call, the others after random ones.
        const moment = cut === 0 ? calls.length - 1 : draws.below(calls.length)
        done.readBack += await cutAt(calls, moment, home, log)
        progress(`cut ${done.rounds + 1} of ${rounds}: after ${moment + 1} of ${calls.length} calls`)
      }
    } finally {
      await rm(home, { recursive: true, force: true })
    }
  }
  return done
}

interface Recording {
  calls: SystemCall[]
  log: AccountLog
}

async function recorded(home: string, draws: Draws): Promise<Recording> {
  const [dataDir, output] = [join(home, 'data'), join(home, 'calls')]
  await mkdir(dataDir, { mode: 0o700 })
  const log = new AccountLog()
  const server = await TortureServer.start(dataDir, { under: straceCommand(output) })
  const load = new Load(server.client, log)
  try {
    const running = load.run(draws, `recorded ${draws.below(2 ** 31)}`)
    await Promise.race([load.answered(10 + draws.below(MOST_ANSWERS)), running])
    load.end()
    await server.kill()
    await running
  } finally {
    load.end()
    await server.kill()
  }
  const calls: SystemCall[] = []
  for await (const call of readCalls(output)) calls.push(call)
  return { calls, log }
}

async function cutAt(calls: readonly SystemCall[], moment: number, home: string, log: AccountLog): Promise<number> {
  const replay = new Replay(join(home, 'data'))
  for (const call of calls.slice(0, moment + 1)) replay.apply(call)
  const at = calls[moment]?.at ?? 0
  const left = await mkdtemp(join(home, 'left-'))
  replay.disk.leaveIn(left)
  const server = await TortureServer.start(left)
  try {
    const from = now()
    await inspect(server, log, at)
    await findStrays(server, left)
    return log.contents.filter(({ cid }) => log.fateOf(cid, at, { from, to: now() }) === 'kept').length
  } finally {
    await server.kill()
    await rm(left, { recursive: true, force: true })
  }
}
