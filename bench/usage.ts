import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

/** Costs of some work to its processes. Available on Linux only. */
export interface Usage {
  /** Processor time of all threads and children, user and system. */
  cpuSeconds: number
  /** Processor time of the busiest thread, which more cores cannot divide. */
  busiestSeconds: number
  /** Highest total memory in RAM, in 2²⁰ bytes. */
  peakMiB: number
  /** Data written to disk, in 2²⁰ bytes; 0 if the kernel denies access to the figure. */
  writtenMiB: number
}

/** Ticks in a second in `/proc/<pid>/stat`, on every architecture that Node supports. */
const TICKS = 100

/** Measures processes and all their descendants. The time of a child that has ended counts for its parent. */
export class UsageWatch {
  readonly #roots: readonly number[]
  readonly #cpu: number
  readonly #threads: ReadonlyMap<string, number>
  readonly #written: number

  private constructor(roots: readonly number[]) {
    this.#roots = roots
    const pids = processTree(roots)
    // Resets the peaks of memory. If that is not allowed, they are the peaks since the start.
    for (const pid of pids) quietly(() => writeFileSync(`/proc/${pid}/clear_refs`, '5'))
    this.#cpu = sum(pids.map(cpuSeconds))
    this.#threads = threadSeconds(pids)
    this.#written = sum(pids.map(writtenMiB))
  }

  /** Starts a watch. Returns null without processes, or on another system than Linux. */
  static start(pids: readonly number[] | undefined): UsageWatch | null {
    return pids === undefined || pids.length === 0 || process.platform !== 'linux' ? null : new UsageWatch(pids)
  }

  usage(): Usage {
    const pids = processTree(this.#roots)
    const threads = [...threadSeconds(pids)].map(([thread, seconds]) => seconds - (this.#threads.get(thread) ?? 0))
    return {
      cpuSeconds: sum(pids.map(cpuSeconds)) - this.#cpu,
      busiestSeconds: Math.max(0, ...threads),
      peakMiB: sum(pids.map(peakMiB)),
      writtenMiB: sum(pids.map(writtenMiB)) - this.#written,
    }
  }
}

/** Returns the processor seconds of this process's ended children, such as load clients. */
export function endedChildrenSeconds(): number {
  if (process.platform !== 'linux') return 0
  const fields = statFields(readFileSync('/proc/self/stat', 'utf8'))
  return ((fields[13] ?? 0) + (fields[14] ?? 0)) / TICKS
}

/** Parses a line of `/proc/<pid>/stat` from the state on. The name before it may contain spaces and brackets. */
export function statFields(line: string): number[] {
  return line
    .slice(line.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
}

function processTree(roots: readonly number[]): number[] {
  const found: number[] = []
  const next = [...roots]
  for (let pid = next.shift(); pid !== undefined; pid = next.shift()) {
    const at = pid
    if (found.includes(at) || quietly(() => readFileSync(`/proc/${at}/stat`)) === undefined) continue
    found.push(at)
    for (const thread of quietly(() => readdirSync(`/proc/${at}/task`)) ?? []) {
      const children = quietly(() => readFileSync(`/proc/${at}/task/${thread}/children`, 'utf8')) ?? ''
      next.push(...children.split(' ').filter(Boolean).map(Number))
    }
  }
  return found
}

function cpuSeconds(pid: number): number {
  const fields = statFields(quietly(() => readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? ') ')
  return sum([11, 12, 13, 14].map(at => fields[at] ?? 0)) / TICKS
}

function threadSeconds(pids: readonly number[]): Map<string, number> {
  const seconds = new Map<string, number>()
  for (const pid of pids) {
    for (const thread of quietly(() => readdirSync(`/proc/${pid}/task`)) ?? []) {
      const fields = statFields(quietly(() => readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')) ?? ') ')
      seconds.set(thread, ((fields[11] ?? 0) + (fields[12] ?? 0)) / TICKS)
    }
  }
  return seconds
}

function peakMiB(pid: number): number {
  const status = quietly(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? ''
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024
}

function writtenMiB(pid: number): number {
  const io = quietly(() => readFileSync(`/proc/${pid}/io`, 'utf8')) ?? ''
  return Number(/^write_bytes: (\d+)$/m.exec(io)?.[1] ?? 0) / 2 ** 20
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** Runs a look at `/proc`. Returns undefined if it throws, because a process may end at any time. */
function quietly<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}
