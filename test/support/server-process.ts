import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const MAIN = resolve(import.meta.dirname, '../../adapters/cli/main.ts')
/** Where Node keeps what it has compiled, so that the many processes of the tests start sooner. */
const COMPILED = resolve(import.meta.dirname, '../../node_modules/.cache/compiled')
/** A process that hangs is ended, so that its test fails by name. */
const LONGEST_MS = 80_000

export type Env = Record<string, string>

export interface Finished {
  code: number | null
  stdout: string
  stderr: string
}

/** The environment without what would configure the command. */
function environment(extra: Env): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(HOLDFAST_|UV_THREADPOOL_SIZE$)/.test(name))
  return { ...Object.fromEntries(inherited), NODE_COMPILE_CACHE: COMPILED, ...extra }
}

/** Runs the command line to its end. */
export function runHoldfast(args: readonly string[], env: Env = {}, input = ''): Promise<Finished> {
  return new Promise(resolve => {
    const options = { env: environment(env), timeout: LONGEST_MS }
    const child = execFile(process.execPath, [MAIN, ...args], options, (_, stdout, stderr) => {
      resolve({ code: child.exitCode, stdout, stderr })
    })
    // A command that ends without reading what it is given is none that fails.
    child.stdin?.on('error', () => {}).end(input)
  })
}

/** A server in a process of its own, on a free port. */
export class ServerProcess {
  static readonly #running = new Set<ServerProcess>()
  readonly #child: ChildProcess
  #stdout = ''
  #stderr = ''

  private constructor(child: ChildProcess) {
    this.#child = child
    ServerProcess.#running.add(this)
    child.once('close', () => ServerProcess.#running.delete(this))
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text
    })
  }

  /** Resolves when it listens. */
  static async start(
    dataDir: string,
    args: readonly string[] = [],
    env: Env = {},
    longestMs = LONGEST_MS,
    nodeArgs: readonly string[] = [],
    /** How many files and sockets it may have open; as many as this process without it. */
    descriptors?: number,
    /** The command line that is run; the sources' without it. */
    main = MAIN,
  ): Promise<ServerProcess> {
    const command = [process.execPath, ...nodeArgs, main, 'serve', '--port', '0', '--data-dir', dataDir, ...args]
    const limited = descriptors === undefined ? [] : ['/bin/sh', '-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh']
    const [file = '', ...given] = [...limited, ...command]
    const child = spawn(file, given, {
      env: environment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: longestMs,
      killSignal: 'SIGKILL',
    })
    const server = new ServerProcess(child)
    await server.until(/^import folder .*\n/m)
    return server
  }

  /** Ends what a failed test has left running. */
  static async killAll(): Promise<void> {
    for (const server of ServerProcess.#running) {
      server.signal('SIGKILL')
      await server.ended()
    }
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN
  }

  get stderr(): string {
    return this.#stderr
  }

  get stdout(): string {
    return this.#stdout
  }

  get url(): string {
    return /^listening on (\S+)$/m.exec(this.#stdout)?.[1] ?? ''
  }

  get api(): string {
    return `${this.url}/api/v3`
  }

  /** Resolves when its output matches. */
  async until(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.#stdout)) {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        throw new Error(`the server ended: ${this.#stderr || this.#stdout}`)
      }
      await Promise.race([once(this.#child.stdout ?? this.#child, 'data'), once(this.#child, 'close')])
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Resolves when it has ended, with its exit code. */
  async ended(): Promise<number | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'close')
    return this.#child.exitCode
  }

  async stop(): Promise<number | null> {
    this.signal('SIGTERM')
    return this.ended()
  }
}

/** A directory for one test. The caller removes it. */
export function temporaryDirectory(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-process-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
