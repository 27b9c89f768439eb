import { execFileSync } from 'node:child_process'
import { readFileSync, realpathSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { programsHere } from './programs.ts'

/** What figures depend on besides the code. */
export interface BenchEnvironment {
  node: string
  platform: string
  processor: string
  cores: number
  /** 10⁹ bytes, rounded. */
  memoryGB: number
  /** Of the directory that is written to; `unknown` where the system does not say. */
  fileSystem: string
  /** Of the checkout, with `+` if something in it is not committed; `unknown` outside of one. */
  commit: string
  /** How many wanted a core when it began, on average over a minute: over 1 the machine was not quiet. */
  load: number
  /** Of the contenders and load clients that are here. */
  versions: Record<string, string>
  /** Why others are not run. */
  absent: Record<string, string>
}

/** What runs write changes nothing of what is measured. */
const WRITTEN_BY_RUNS = [':!bench/results', ':!docs']
const CHECKOUT = fileURLToPath(new URL('..', import.meta.url))

/** @param directory an existing one, which benches write to */
export function benchEnvironment(directory: string): BenchEnvironment {
  const processors = cpus()
  return {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    processor: processors[0]?.model.trim() || 'unknown',
    cores: processors.length,
    memoryGB: Math.round(totalmem() / 1e9),
    fileSystem: fileSystemOf(directory),
    commit: commit(),
    load: Number(loadavg()[0]?.toFixed(1)),
    ...programsHere(),
  }
}

/** In a line, for people. */
export function environmentLine(environment: BenchEnvironment): string {
  const { node, platform, processor, cores, memoryGB, fileSystem, commit, load } = environment
  return `Node ${node}, ${platform}, ${processor}, ${cores} cores, ${memoryGB} GB, ${fileSystem}, load ${load}, commit ${commit}`
}

/** What is beside us and what is not, in a line each. */
export function programLines({ versions, absent }: BenchEnvironment): string[] {
  const here = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  return [
    ...(here.length === 0 ? [] : [`beside us: ${here.join(', ')}`]),
    ...Object.entries(absent).map(([name, why]) => `not run: ${name}: ${why}`),
  ]
}

/** That of the longest mount point above the directory. */
function fileSystemOf(directory: string): string {
  let mounts: string
  try {
    mounts = readFileSync('/proc/self/mounts', 'utf8')
  } catch {
    return 'unknown'
  }
  const path = realpathSync(directory)
  let best = { point: '', type: 'unknown' }
  for (const line of mounts.split('\n')) {
    const [, point = '', type = ''] = line.split(' ')
    const isAbove = point === '/' || path === point || path.startsWith(`${point}/`)
    if (isAbove && point.length >= best.point.length) best = { point, type }
  }
  return best.type
}

function commit(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: CHECKOUT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    return (
      git('rev-parse', '--short=12', 'HEAD') +
      (git('status', '--porcelain', '--', '.', ...WRITTEN_BY_RUNS) === '' ? '' : '+')
    )
  } catch {
    return 'unknown'
  }
}
