import { execFileSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** What a program of others is wanted for, and where it is looked for. */
const PROGRAMS = {
  kubo: { named: 'HOLDFAST_TEST_IPFS', version: ['version', '--number'], is: 'a contender' },
  cluster: { named: 'HOLDFAST_TEST_IPFS_CLUSTER', version: ['--version'], is: 'a contender' },
  nginx: { command: 'nginx', version: ['-v'], is: 'a contender' },
  wrk: { command: 'wrk', version: ['-v'], is: 'a load client' },
  h2load: { command: 'h2load', version: ['--version'], is: 'a load client' },
  taskset: { command: 'taskset', version: ['--version'], is: 'what keeps a server on so many cores' },
  curl: { command: 'curl', version: ['--version'], is: 'a load client' },
} as const

export type ProgramName = keyof typeof PROGRAMS

/** What a run has beside it, for its head. */
export interface Programs {
  /** The version of each that is there. */
  versions: Record<string, string>
  /** Why others are not, and with them their subjects. */
  absent: Record<string, string>
}

/** The program's path, or null where there is none. */
export function findProgram(name: ProgramName): string | null {
  const program = PROGRAMS[name]
  if ('named' in program) return runnable(process.env[program.named] ?? '')
  const places = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
  return places.map(place => runnable(join(place, program.command))).find(path => path !== null) ?? null
}

/** All of them, as this machine has them. */
export function programsHere(): Programs {
  const here: Programs = { versions: {}, absent: {} }
  for (const name of Object.keys(PROGRAMS) as ProgramName[]) {
    const program = PROGRAMS[name]
    const path = findProgram(name)
    if (path !== null) here.versions[name] = versionOf(path, program.version)
    else
      here.absent[name] =
        'named' in program
          ? `${program.is}, ${program.named} names no program`
          : `${program.is}, there is no ${program.command}`
  }
  return here
}

/** The first thing in what it says that looks like a version. */
export function versionIn(text: string): string {
  return /\d+(?:\.\d+)+(?:-[\w.]+)?/.exec(text)?.[0] ?? 'unknown'
}

function versionOf(path: string, args: readonly string[]): string {
  try {
    // Some say it on standard error, and some end with an error after that.
    return versionIn(execFileSync('/bin/sh', ['-c', '"$0" "$@" 2>&1; :', path, ...args], { encoding: 'utf8' }))
  } catch {
    return 'unknown'
  }
}

function runnable(path: string): string | null {
  if (path === '') return null
  try {
    accessSync(path, constants.X_OK)
    return path
  } catch {
    return null
  }
}
