import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { COMPILED, shared } from './shared-server.ts'

/** Sources of the command line, for tests that replace or count its modules. */
export const SOURCES = resolve(import.meta.dirname, '../../adapters/cli/main.ts')
/**
 * Entry point that tests start: the bundled program of the run, or its sources outside a run. It is bundled before the
 * tests of a file begin, so that no test's time limit counts that.
 */
export const MAIN: string = (await shared('program'))?.main ?? SOURCES
/** Time after which a hanging process is killed, so that its own test fails. */
const LONGEST_MS = 80_000
const MOST_OUTPUT = 2 ** 26

export type Env = Record<string, string>

export interface Finished {
  code: number | null
  stdout: string
  stderr: string
}

/**
 * Returns the environment of a process without variables and a saved login that would configure the command. Node keeps
 * compiled code, so that the many processes of the tests start faster: of a bundle beside it, to be removed with it.
 */
function environment(main: string, extra: Env): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(HOLDFAST_|UV_THREADPOOL_SIZE$)/.test(name))
  const compiled = main === SOURCES ? COMPILED : join(dirname(main), 'compiled')
  return { ...Object.fromEntries(inherited), NODE_COMPILE_CACHE: compiled, XDG_CONFIG_HOME: '/nowhere', ...extra }
}

export function runHoldfast(
  args: readonly string[],
  env: Env = {},
  input = '',
  longestMs = LONGEST_MS,
): Promise<Finished> {
  return new Promise(resolve => {
    const options = { env: environment(MAIN, env), timeout: longestMs, maxBuffer: MOST_OUTPUT }
    const child = execFile(process.execPath, [MAIN, ...args], options, (_, stdout, stderr) => {
      resolve({ code: child.exitCode, stdout, stderr })
    })
    // A command that exits without reading its input is no failure.
    child.stdin?.on('error', () => {}).end(input)
  })
}

/** A server in its own process, on a free port. */
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

  /** Resolves when the server listens. */
  static async start(
    dataDir: string,
    args: readonly string[] = [],
    env: Env = {},
    longestMs = LONGEST_MS,
    nodeArgs: readonly string[] = [],
    /** Limit of its open files and sockets; by default that of this process. */
    descriptors?: number,
    /** By default the sources, if a flag of Node may replace their modules, else {@link MAIN}. */
    given?: string,
  ): Promise<ServerProcess> {
    const main = given ?? (nodeArgs.length > 0 ? SOURCES : MAIN)
    const command = [process.execPath, ...nodeArgs, main, 'serve', '--port', '0', '--data-dir', dataDir, ...args]
    const limited = descriptors === undefined ? [] : ['/bin/sh', '-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh']
    const [file = '', ...rest] = [...limited, ...command]
    const child = spawn(file, rest, {
      env: environment(main, env),
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: longestMs,
      killSignal: 'SIGKILL',
    })
    const server = new ServerProcess(child)
    await server.until(/^import folder .*\n/m)
    return server
  }

  /** Kills servers that a failed test has left running. */
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

  /** Resolves when the output matches. @throws if the server exits first */
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

  /** Resolves with the exit code when the process has ended. */
  async ended(): Promise<number | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'close')
    return this.#child.exitCode
  }

  async stop(): Promise<number | null> {
    this.signal('SIGTERM')
    return this.ended()
  }
}

/** Creates a directory for one test. The caller removes it. */
export function temporaryDirectory(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-process-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
