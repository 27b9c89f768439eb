import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'

const LINES_KEPT = 50

/** Flags with which `holdfast` starts Node. Every subject's server gets them. */
const NODE_FLAGS = ['--max-semi-space-size=4']

/** A server in its own process, which prints its URL when it listens. */
export class ChildServer {
  readonly #child: ChildProcess
  readonly #lines: Interface
  readonly #said: string[]
  /** Without a trailing slash. */
  readonly url: string

  private constructor(child: ChildProcess, lines: Interface, said: string[], url: string) {
    this.#child = child
    this.#lines = lines
    this.#said = said
    this.url = url
  }

  /**
   * Starts a script with this Node and waits until it prints `listening on <url>`. @param cores number of cores to
   * restrict it to, by taskset
   */
  static start(script: string, args: readonly string[], env: NodeJS.ProcessEnv, cores?: number): Promise<ChildServer> {
    const command = [process.execPath, ...NODE_FLAGS, script, ...args]
    const [program = '', ...rest] = cores === undefined ? command : ['taskset', '-c', `0-${cores - 1}`, ...command]
    return ChildServer.run(program, rest, env, /listening on (http:\S+)/)
  }

  /** Starts a program and waits for an output line that matches. The first group, if any, is its URL. */
  static async run(
    program: string,
    args: readonly string[],
    env: NodeJS.ProcessEnv,
    ready: RegExp,
  ): Promise<ChildServer> {
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let complaints = ''
    child.stderr.setEncoding('utf8').on('data', text => {
      complaints = (complaints + text).slice(-2_000)
    })
    // A full pipe would block the process.
    const lines = createInterface(child.stdout)
    const said: string[] = []
    const url = await new Promise<string>((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', code => reject(new Error(`${program} ended with ${code} before it listened: ${complaints}`)))
      lines.on('line', line => {
        if (said.length < LINES_KEPT) said.push(line)
        const found = ready.exec(line)
        if (found !== null) resolve(found[1] ?? '')
      })
    })
    return new ChildServer(child, lines, said, url)
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error('the server has no process')
    return this.#child.pid
  }

  /** Returns the first group of the first output line that matches, and waits for one if necessary. */
  async said(pattern: RegExp): Promise<string> {
    for (let next = 0; ; next++) {
      while (this.#said.length <= next) await once(this.#lines, 'line')
      const found = pattern.exec(this.#said[next] ?? '')?.[1]
      if (found !== undefined) return found
    }
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    await exited
  }
}
