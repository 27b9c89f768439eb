import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { withTempDir } from '../support/temp-dir.ts'

/** Returns the path of Kubo: `HOLDFAST_TEST_IPFS`, else `ipfs` on `PATH`; null if neither can run. */
export function findKubo(): string | null {
  const named = process.env.HOLDFAST_TEST_IPFS ?? ''
  const places = (process.env.PATH ?? '').split(delimiter).map(dir => join(dir, 'ipfs'))
  for (const place of named === '' ? places : [named]) {
    try {
      accessSync(place, constants.X_OK)
      return place
    } catch {
      // It does not exist, or may not be run.
    }
  }
  return null
}

/** A Kubo with its own repository under the profile `unixfs-v1-2025`, which stays offline. */
export class Kubo {
  readonly #binary: string
  readonly #env: NodeJS.ProcessEnv
  #daemon: ChildProcess | null = null

  private constructor(binary: string, repository: string, env: NodeJS.ProcessEnv) {
    this.#binary = binary
    this.#env = { ...process.env, ...env, IPFS_PATH: repository, IPFS_TELEMETRY: 'off' }
  }

  static async make(binary: string, repository: string, env: NodeJS.ProcessEnv = {}): Promise<Kubo> {
    const kubo = new Kubo(binary, repository, env)
    await kubo.run('init', '--empty-repo', '--profile=unixfs-v1-2025')
    const file = join(repository, 'config')
    const config = JSON.parse(readFileSync(file, 'utf8')) as Record<string, object>
    const loopback = {
      ...{ Bootstrap: [], Routing: { Type: 'none' }, Provide: { Enabled: false }, DNS: {} },
      ...{ Discovery: { MDNS: { Enabled: false } }, AutoConf: { Enabled: false }, AutoTLS: { Enabled: false } },
      ...{ AutoNAT: { ServiceMode: 'disabled' }, Ipns: { DelegatedPublishers: [] }, HTTPRetrieval: { Enabled: false } },
      Addresses: { Swarm: ['/ip4/127.0.0.1/tcp/0'], API: '/ip4/127.0.0.1/tcp/0', Gateway: [] },
      Swarm: { DisableNatPortMap: true, RelayClient: { Enabled: false }, RelayService: { Enabled: false } },
    }
    writeFileSync(file, JSON.stringify({ ...config, ...loopback }))
    return kubo
  }

  async start(): Promise<void> {
    const daemon = spawn(this.#binary, ['daemon'], { env: this.#env, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#daemon = daemon
    // The daemon must not outlive the tests, even if they crash.
    const kill = (): boolean => daemon.kill('SIGKILL')
    process.once('exit', kill)
    daemon.once('exit', () => process.off('exit', kill))
    let told = ''
    daemon.stderr.setEncoding('utf8').on('data', (text: string) => {
      told += text
    })
    daemon.stdout.setEncoding('utf8').on('data', (text: string) => {
      told += text
    })
    const exited = once(daemon, 'exit').then(() => Promise.reject(new Error(`Kubo ended: ${told}`)))
    exited.catch(() => undefined)
    while (!told.includes('Daemon is ready')) await Promise.race([once(daemon.stdout, 'data'), exited])
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const daemon = this.#daemon
    if (daemon === null || daemon.exitCode !== null || daemon.signalCode !== null) return
    const exited = once(daemon, 'exit')
    daemon.kill(signal)
    await exited
  }

  /** Runs a command to its end. Returns its output, trimmed. */
  async run(...args: string[]): Promise<string> {
    return this.feed([], ...args)
  }

  /** Runs a command with bytes as its standard input. */
  async feed(input: Iterable<Uint8Array>, ...args: string[]): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const options = { env: this.#env, maxBuffer: 2 ** 26 }
    const child = execFile(this.#binary, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout.trim())
      else reject(new Error(`ipfs ${args.join(' ')}: ${stderr}`, { cause: error }))
    })
    if (child.stdin !== null) await pipeline(Readable.from(input), child.stdin).catch(() => undefined)
    return promise
  }

  /** Returns its multiaddress on loopback. */
  async address(): Promise<string> {
    const { Addresses } = JSON.parse(await this.run('id')) as { Addresses: string[] }
    const [address] = Addresses.filter(text => text.startsWith('/ip4/127.0.0.1/tcp/'))
    if (address === undefined) throw new Error(`Kubo is not on loopback: ${Addresses}`)
    return address
  }
}

/** Runs with a new repository, and deletes it afterwards. */
export function withKubo<T>(binary: string, use: (kubo: Kubo) => Promise<T>): Promise<T> {
  return withTempDir(async dir => {
    const kubo = await Kubo.make(binary, join(dir, 'repository'))
    try {
      return await use(kubo)
    } finally {
      await kubo.stop()
    }
  })
}
