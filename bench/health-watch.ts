import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Probed, ProbeReport } from './health-probe.ts'

const THREAD = new URL('./health-probe.ts', import.meta.url)

/** Measures, from its own thread, the longest answer time of a server. The caller stops it. */
export class HealthWatch {
  readonly #worker: Worker

  /**
   * @param base without a trailing slash
   * @param asked requests to repeat, in turn. Default: `/health`
   */
  constructor(base: string, { paths = ['/health'], headers = {} }: Partial<Omit<Probed, 'base'>> = {}) {
    this.#worker = new Worker(THREAD, { workerData: { base, paths, headers } satisfies Probed, execArgv: [] })
    this.#worker.on('error', () => undefined)
  }

  /** Runs some work. Resolves with the longest answer time meanwhile, in ms. */
  async longestDuring(work: () => Promise<void>): Promise<number> {
    return (await this.during(work)).longestMs
  }

  /** Runs some work. Resolves with what the thread has seen meanwhile. */
  async during(work: () => Promise<void>): Promise<ProbeReport> {
    await this.#report()
    await work()
    return this.#report()
  }

  async stop(): Promise<void> {
    await this.#worker.terminate()
  }

  async #report(): Promise<ProbeReport> {
    const answered = once(this.#worker, 'message')
    const ended = once(this.#worker, 'exit').then(() => {
      throw new Error('the server stopped answering')
    })
    ended.catch(() => undefined)
    this.#worker.postMessage('report')
    const [report] = await Promise.race([answered, ended])
    return report as ProbeReport
  }
}
