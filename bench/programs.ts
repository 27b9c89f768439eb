import { execFileSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const PROGRAMS = {
  kubo: { named: 'HOLDFAST_TEST_IPFS', version: ['version', '--number'], is: 'a contender' },
  cluster: { named: 'HOLDFAST_TEST_IPFS_CLUSTER', version: ['--version'], is: 'a contender' },
  nginx: { command: 'nginx', version: ['-v'], is: 'a contender' },
  wrk: { command: 'wrk', version: ['-v'], is: 'a load client' },
  h2load: { command: 'h2load', version: ['--version'], is: 'a load client' },
  taskset: { command: 'taskset', version: ['--version'], is: 'restricts a server to some cores' },
  curl: { command: 'curl', version: ['--version'], is: 'a load client' },
} as const

export type ProgramName = keyof typeof PROGRAMS

export interface Programs {
  versions: Record<string, string>
  /** Why others, and their subjects, are missing. */
  absent: Record<string, string>
}

export function findProgram(name: ProgramName): string | null {
  const program = PROGRAMS[name]
  if ('named' in program) return runnable(process.env[program.named] ?? '')
  const places = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
  return places.map(place => runnable(join(place, program.command))).find(path => path !== null) ?? null
}

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

export function versionIn(text: string): string {
  return /\d+(?:\.\d+)+(?:-[\w.]+)?/.exec(text)?.[0] ?? 'unknown'
}

function versionOf(path: string, args: readonly string[]): string {
  try {
    // Some programs print their version to standard error, and some then exit with an error.
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
