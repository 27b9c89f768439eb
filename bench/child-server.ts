import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** A server in a process of its own, which says `listening on <url>` once it is ready. */
export class ChildServer {
  readonly #child: ChildProcess
  /** Without a trailing slash. */
  readonly url: string

  private constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.url = url
  }

  /** Starts a script under this same Node and waits for its line. */
  static async start(script: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<ChildServer> {
    const child = spawn(process.execPath, [script, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let complaints = ''
    child.stderr.setEncoding('utf8').on('data', text => {
      complaints = (complaints + text).slice(-2_000)
    })
    const url = await new Promise<string>((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', code => reject(new Error(`${script} ended with ${code} before it listened: ${complaints}`)))
      // The lines are read to the end of the process, so that it never blocks on a full pipe.
      createInterface(child.stdout).on('line', line => {
        const found = /listening on (http:\S+)/.exec(line)?.[1]
        if (found !== undefined) resolve(found)
      })
    })
    return new ChildServer(child, url)
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    await exited
  }
}
