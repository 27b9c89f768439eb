import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { withTempDir } from '../support/temp-dir.ts'

/** Where Kubo is: what HOLDFAST_TEST_IPFS names, else `ipfs` on PATH; null if there is none. */
export function findKubo(): string | null {
  const named = process.env.HOLDFAST_TEST_IPFS ?? ''
  const places = (process.env.PATH ?? '').split(delimiter).map(dir => join(dir, 'ipfs'))
  for (const place of named === '' ? places : [named]) {
    try {
      accessSync(place, constants.X_OK)
      return place
    } catch {
      // Not there, or nothing that can be run.
    }
  }
  return null
}

/** Kubo with a repository of its own under the profile `unixfs-v1-2025`, which never looks beyond this machine. */
export class Kubo {
  readonly #binary: string
  readonly #env: NodeJS.ProcessEnv
  #daemon: ChildProcess | null = null

  private constructor(binary: string, repository: string) {
    this.#binary = binary
    this.#env = { ...process.env, IPFS_PATH: repository, IPFS_TELEMETRY: 'off' }
  }

  static async make(binary: string, repository: string): Promise<Kubo> {
    const kubo = new Kubo(binary, repository)
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
    // Whatever becomes of the test, nothing of it stays.
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

  /** Runs a command to its end. Returns what it printed, trimmed. */
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

  /** The address by which it is reached on this machine. */
  async address(): Promise<string> {
    const { Addresses } = JSON.parse(await this.run('id')) as { Addresses: string[] }
    const [address] = Addresses.filter(text => text.startsWith('/ip4/127.0.0.1/tcp/'))
    if (address === undefined) throw new Error(`Kubo is not on loopback: ${Addresses}`)
    return address
  }
}

/** Runs with a repository that is removed afterwards. */
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
