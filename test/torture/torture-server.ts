import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { EngineConfig } from '../../src/index.ts'
import { Client } from './client.ts'

const MAIN = join(import.meta.dirname, 'server.ts')
const KEY = 'torture-0123456789abcdef0123456789abcdef'

export interface StartOptions {
  /** Seed of the disk's failures; null for a healthy disk. */
  faults?: number | null
  /** Command that runs the process, such as `strace` with its options. */
  under?: readonly string[]
  /** Further options of the engine. */
  options?: EngineConfig
  /** Port; by default a free one. */
  port?: number
  /** Keys of accounts besides the owner, by email. */
  accounts?: Readonly<Record<string, string>>
  /** Further environment variables. */
  environment?: Readonly<Record<string, string>>
}

/** A real server on a data directory, in a process that can be killed. */
export class TortureServer {
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>
  readonly #url: string
  readonly client: Client

  private constructor(child: ChildProcess, exited: Promise<unknown>, url: string) {
    this.#child = child
    this.#exited = exited
    this.#url = url
    this.client = new Client(url, KEY)
  }

  /** Returns a client of all clusters, or of one, as the owner unless another key is given. */
  clientOf(cluster: string | null, key = KEY): Client {
    return new Client(this.#url, key, cluster === null ? {} : { 'x-cluster': cluster })
  }

  /** Starts a server. Resolves when it listens. */
  static async start(dataDir: string, options: StartOptions = {}): Promise<TortureServer> {
    const { faults = null, under = [], port = 0, accounts = {}, environment = {} } = options
    const [command = '', ...args] = [...under, process.execPath, MAIN, dataDir, faults === null ? 'none' : `${faults}`]
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        ...environment,
        // strace cannot see the writes of io_uring.
        UV_USE_IO_URING: '0',
        TORTURE_KEY: KEY,
        TORTURE_PORT: String(port),
        TORTURE_ACCOUNTS: JSON.stringify(accounts),
        TORTURE_OPTIONS: JSON.stringify(options.options ?? {}),
        NODE_COMPILE_CACHE: join(MAIN, '../../../node_modules/.cache/compiled'),
      },
      // A process group of its own, so that one signal kills `strace` and the server.
      detached: true,
    })
    const exited = once(child, 'exit')
    const lines = createInterface({ input: child.stdout })
    const [line] = (await Promise.race([
      once(lines, 'line'),
      exited.then(([code, signal]) => Promise.reject(new Error(`the server did not start: ${code ?? signal}`))),
    ])) as [string]
    return new TortureServer(child, exited, line.replace('listening on ', ''))
  }

  /** Kills the process group with SIGKILL, as a crash would. Resolves when it has ended. */
  async kill(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#child
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL')
    await this.#exited
  }

  /** Suspends or resumes the process. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal)
  }

  /** Stops the server gracefully. Resolves when it has ended. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    await this.#exited
  }
}
