import { execFileSync } from 'node:child_process'
import { readFileSync, realpathSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { programsHere } from './programs.ts'

export interface BenchEnvironment {
  node: string
  platform: string
  processor: string
  cores: number
  /** In 10⁹ bytes, rounded. */
  memoryGB: number
  /** File system of the data directory; `unknown` if the system does not report it. */
  fileSystem: string
  /** Commit of the checkout, with `+` if files are uncommitted; `unknown` outside a checkout. */
  commit: string
  /** Load average over a minute at the start. Above 1, the machine was not idle. */
  load: number
  versions: Record<string, string>
  /** Why others are not run, by name. */
  absent: Record<string, string>
}

/** Paths that runs write, which do not affect the measurement. */
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

export function environmentLine(environment: BenchEnvironment): string {
  const { node, platform, processor, cores, memoryGB, fileSystem, commit, load } = environment
  return `Node ${node}, ${platform}, ${processor}, ${cores} cores, ${memoryGB} GB, ${fileSystem}, load ${load}, commit ${commit}`
}

export function programLines({ versions, absent }: BenchEnvironment): string[] {
  const here = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  return [
    ...(here.length === 0 ? [] : [`beside us: ${here.join(', ')}`]),
    ...Object.entries(absent).map(([name, why]) => `not run: ${name}: ${why}`),
  ]
}

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
