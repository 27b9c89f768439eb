import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Env, MAIN, ServerProcess } from './server-process.ts'

const PRELOAD = pathToFileURL(join(import.meta.dirname, 'stall-preload.ts')).href

/** A server in its own process, whose event loop a thread of that process watches. */
export class WatchedServer {
  readonly process: ServerProcess
  readonly #report: string

  private constructor(process: ServerProcess, report: string) {
    this.process = process
    this.#report = report
  }

  /** @param report a file that does not exist yet, which the watching thread writes */
  static async start(
    dataDir: string,
    report: string,
    options: { args?: readonly string[]; env?: Env; longestMs?: number } = {},
  ): Promise<WatchedServer> {
    const { args, env, longestMs } = options
    const watching = ['--import', PRELOAD]
    const given = { ...env, STALL_REPORT: report }
    const process = await ServerProcess.start(dataDir, args, given, longestMs, watching, undefined, MAIN)
    return new WatchedServer(process, report)
  }

  /** Returns the longest stall of the loop since {@link reset}. */
  longestStall(): number {
    return Number.parseInt(readFileSync(this.#report, 'utf8'), 10)
  }

  /** Resets the watch. Resolves when the server has forgotten its stalls. */
  async reset(): Promise<void> {
    this.process.signal('SIGUSR2')
    for (let tries = 0; this.longestStall() > 100; tries++) {
      if (tries > 500) throw new Error('the server does not forget its stalls')
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }

  /** Returns the peak of the process's memory in RAM, if the system reports it. */
  peakMemory(): number | null {
    return kibibytesOf(this.process.pid, 'VmHWM')
  }

  memory(): number | null {
    return kibibytesOf(this.process.pid, 'VmRSS')
  }
}

function kibibytesOf(pid: number, field: string): number | null {
  if (process.platform !== 'linux') return null
  const line = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return line === null ? null : Number(line[1]) * 1_024
}
