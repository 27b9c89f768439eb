import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { findKubo } from '../interop/kubo.ts'

const run = promisify(execFile)
const USER = 'holdfast'
const PASSWORD = 'a-password-of-peers'
const SECRET = '5a'.repeat(32)

/** Returns the programs that `HOLDFAST_TEST_IPFS_CLUSTER` and `HOLDFAST_TEST_IPFS` name, or null unless both exist. */
export function findIpfsCluster(): IpfsClusterPrograms | null {
  const service = process.env.HOLDFAST_TEST_IPFS_CLUSTER ?? ''
  const kubo = findKubo()
  try {
    accessSync(service, constants.X_OK)
  } catch {
    return null
  }
  return kubo === null ? null : { service, kubo }
}

export interface IpfsClusterPrograms {
  service: string
  kubo: string
}

const RPC_LISTENS = /^RPC API server listening on (\S+)$/
const GATEWAY_LISTENS = /^Gateway server listening on (\S+)$/

/** A program that prints the address it listens on. It can be killed or stopped, and started again. */
class Daemon {
  readonly #command: () => { file: string; args: readonly string[]; env: NodeJS.ProcessEnv }
  readonly #ready: RegExp
  #child: ChildProcess | null = null
  #lines: string[] = []

  constructor(command: Daemon['command'], ready: RegExp) {
    this.#command = command
    this.#ready = ready
  }

  get command() {
    return this.#command
  }

  get pid(): number {
    return this.#child?.pid ?? -1
  }

  async start(): Promise<void> {
    const { file, args, env } = this.#command()
    const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    this.#lines = []
    // The program must not outlive the tests, even if they crash.
    const kill = (): boolean => child.kill('SIGKILL')
    process.once('exit', kill)
    child.once('exit', () => process.off('exit', kill))
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    for (const stream of [child.stdout, child.stderr]) {
      createInterface(stream).on('line', line => {
        if (this.#lines.length < 100) this.#lines.push(line)
        if (this.#ready.test(line)) resolve()
      })
    }
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`${file} ended with ${code}: ${this.#lines.join('\n')}`)))
    await promise
  }

  /** Returns the first capture group of the first output line that matches. */
  said(pattern: RegExp): string {
    for (const line of this.#lines) {
      const found = pattern.exec(line)?.[1]
      if (found !== undefined) return found
    }
    throw new Error(`nothing like ${pattern} in ${this.#lines.join('\n')}`)
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    const forced = setTimeout(() => child.kill('SIGKILL'), 10_000)
    await exited
    clearTimeout(forced)
  }
}

class ClusterPeer {
  readonly #kubo: Daemon
  readonly #service: Daemon
  readonly #home: string
  readonly #makeRepository: () => Promise<void>
  #kuboReady = false
  #serviceReady = false
  /** Multiaddress at which other peers reach it; null before its first start. */
  address: string | null = null

  private constructor(kubo: Daemon, service: Daemon, home: string, makeRepository: () => Promise<void>) {
    this.#kubo = kubo
    this.#home = home
    this.#service = service
    this.#makeRepository = makeRepository
  }

  static async make(
    programs: IpfsClusterPrograms,
    dir: string,
    { bootstrap, isSynced }: { bootstrap: () => string | null; isSynced: boolean },
  ): Promise<ClusterPeer> {
    const kuboEnv = { ...process.env, IPFS_PATH: join(dir, 'kubo'), IPFS_TELEMETRY: 'off' }
    await mkdir(dir, { recursive: true })
    const makeOwn = () => makeRepository(programs.kubo, kuboEnv, isSynced)
    await makeOwn()
    const kubo = new Daemon(() => ({ file: programs.kubo, args: ['daemon'], env: kuboEnv }), /^Daemon is ready/)
    const env = { ...process.env, IPFS_CLUSTER_PATH: join(dir, 'cluster'), CLUSTER_SECRET: SECRET }
    const service = new Daemon(() => {
      const known = bootstrap()
      const args = ['daemon', ...(known === null ? [] : ['--bootstrap', known])]
      return { file: programs.service, args, env }
    }, /IPFS Cluster is READY/)
    await run(programs.service, ['init', '--consensus', 'crdt'], { env })
    const peer = new ClusterPeer(kubo, service, dir, makeOwn)
    await peer.startKubo()
    await configure(peer.#configFile, kubo.said(RPC_LISTENS))
    return peer
  }

  /** Each start takes another port. */
  get api(): string {
    return urlOf(this.#service.said(/RESTAPI \(HTTP[^)]*\): (\S+)/))
  }

  get gateway(): string {
    return urlOf(this.#kubo.said(GATEWAY_LISTENS))
  }

  get pids(): readonly number[] {
    return [this.#kubo.pid, this.#service.pid]
  }

  get #configFile(): string {
    return join(this.#home, 'cluster', 'service.json')
  }

  async start(): Promise<void> {
    if (!this.#kuboReady) await this.startKubo()
    if (this.#serviceReady) return
    await this.#service.start()
    this.#serviceReady = true
    const { addresses } = JSON.parse(await this.ask('GET', '/id')) as { addresses: string[] }
    this.address = addresses[0] ?? null
    const port = this.address?.split('/')[4]
    // Other peers expect it at this port after a restart.
    await change(this.#configFile, ({ cluster }) => {
      Object.assign(cluster ?? {}, { listen_multiaddress: [`/ip4/127.0.0.1/tcp/${port}`] })
    })
  }

  async startKubo(): Promise<void> {
    await this.#kubo.start()
    this.#kuboReady = true
    // The peer's service expects its Kubo at these addresses after a restart.
    const addresses = this.#addresses()
    await change(join(this.#home, 'kubo', 'config'), ({ Addresses }) => Object.assign(Addresses ?? {}, addresses))
  }

  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await this.endService(signal)
    await this.endKubo(signal)
  }

  async endService(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await this.#service.end(signal)
    this.#serviceReady = false
  }

  /** Replaces its Kubo by an empty one, with a new identity, at the same addresses. */
  async loseKubo(): Promise<void> {
    const { API, Gateway } = this.#addresses()
    await this.endKubo('SIGKILL')
    await rm(join(this.#home, 'kubo'), { recursive: true })
    await this.#makeRepository()
    await change(join(this.#home, 'kubo', 'config'), ({ Addresses }) =>
      Object.assign(Addresses ?? {}, { API, Gateway }),
    )
    await this.startKubo()
  }

  async endKubo(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await this.#kubo.end(signal)
    this.#kuboReady = false
  }

  #addresses(): { API: string; Gateway: string } {
    return { API: this.#kubo.said(RPC_LISTENS), Gateway: this.#kubo.said(GATEWAY_LISTENS) }
  }

  async ask(method: string, path: string): Promise<string> {
    const answer = await fetch(`${this.api}${path}`, { method, headers: { authorization: AUTHORIZATION } })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text
  }

  get rpcUrl(): string {
    return urlOf(this.#kubo.said(RPC_LISTENS))
  }

  async rpc(command: string): Promise<string> {
    const answer = await fetch(`${this.rpcUrl}/api/v0/${command}`, { method: 'POST' })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${command}: ${answer.status} ${text}`)
    return text
  }

  async put(bytes: Uint8Array, codec: string): Promise<void> {
    const body = new FormData()
    body.set('data', new Blob([Buffer.from(bytes)]))
    const answer = await fetch(`${this.rpcUrl}/api/v0/block/put?cid-codec=${codec}`, { method: 'POST', body })
    if (!answer.ok) throw new Error(await answer.text())
  }
}

/** In the form of a backend's configuration. */
export const AUTH = `basic:${USER}:${PASSWORD}`
export const AUTHORIZATION = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`

/** An IPFS Cluster on loopback. Each peer has its own Kubo, and nothing connects to other machines. */
export class IpfsCluster {
  readonly peers: readonly ClusterPeer[]

  private constructor(peers: readonly ClusterPeer[]) {
    this.peers = peers
  }

  /** @param options.isSynced whether Kubo syncs each block to disk before it answers */
  static async start(
    programs: IpfsClusterPrograms,
    dir: string,
    count: number,
    { isSynced = false }: { isSynced?: boolean } = {},
  ): Promise<IpfsCluster> {
    // Each peer starts from the next one that already has an address.
    const known = (i: number) => peers[(i + 1) % count]?.address ?? peers[0]?.address ?? null
    const peers: ClusterPeer[] = await Promise.all(
      Array.from({ length: count }, (_, i) => {
        return ClusterPeer.make(programs, join(dir, `peer-${i}`), { bootstrap: () => known(i), isSynced })
      }),
    )
    const cluster = new IpfsCluster(peers)
    try {
      await cluster.first.start()
      await Promise.all(peers.slice(1).map(peer => peer.start()))
      await cluster.#knowsAll()
      return cluster
    } catch (error) {
      await cluster.stop()
      throw error
    }
  }

  get first(): ClusterPeer {
    const [peer] = this.peers
    if (peer === undefined) throw new Error('a cluster has peers')
    return peer
  }

  async stop(): Promise<void> {
    await Promise.all(this.peers.map(peer => peer.end()))
  }

  /** Waits until the first peer knows all others. Before that it reports too few peers for a pin. */
  async #knowsAll(): Promise<void> {
    for (let looks = 0; looks < 600; looks++) {
      const counts = await Promise.all(
        ['freespace', 'tag:group'].map(async name => {
          return (JSON.parse(await this.first.ask('GET', `/monitor/metrics/${name}`)) as unknown[]).length
        }),
      )
      if (counts.every(count => count === this.peers.length)) return
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    throw new Error('the peers do not find each other')
  }
}

interface ServiceConfig {
  cluster: Record<string, unknown>
  api: { restapi: Record<string, unknown>; ipfsproxy?: unknown; pinsvcapi?: unknown }
  ipfs_connector: { ipfshttp: Record<string, unknown> }
  consensus: { crdt: Record<string, unknown> }
  informer: Record<'disk' | 'tags' | 'pinqueue', Record<string, unknown>>
  datastore: { pebble: { pebble_options: Record<string, unknown> } }
}

async function configure(file: string, rpc: string): Promise<void> {
  const config = JSON.parse(await readFile(file, 'utf8')) as ServiceConfig
  Object.assign(config.cluster, {
    ...{ listen_multiaddress: ['/ip4/127.0.0.1/tcp/0'], mdns_interval: '0s', monitor_ping_interval: '2s' },
    ...{ peer_watch_interval: '1s', enable_relay_hop: false },
  })
  const http = { http_listen_multiaddress: '/ip4/127.0.0.1/tcp/0', basic_auth_credentials: { [USER]: PASSWORD } }
  config.api = { restapi: { ...config.api.restapi, ...http } }
  config.ipfs_connector.ipfshttp.node_multiaddress = rpc
  // A peer learns at the next rebroadcast what it has missed. The default interval is a minute.
  Object.assign(config.consensus.crdt, { rebroadcast_interval: '1s' })
  for (const informer of Object.values(config.informer)) informer.metric_ttl = '6s'
  config.datastore.pebble.pebble_options.cache_size_bytes = 8 * 1024 ** 2
  await writeFile(file, JSON.stringify(config))
}

async function makeRepository(
  kubo: string,
  env: NodeJS.ProcessEnv & { IPFS_PATH: string },
  isSynced: boolean,
): Promise<void> {
  await run(kubo, ['init', '--empty-repo', '--profile=unixfs-v1-2025'], { env })
  const file = join(env.IPFS_PATH, 'config')
  const own = {
    ...{ Bootstrap: [], Routing: { Type: 'none' }, Provide: { Enabled: false }, DNS: {} },
    ...{ Discovery: { MDNS: { Enabled: false } }, AutoConf: { Enabled: false }, AutoTLS: { Enabled: false } },
    ...{ AutoNAT: { ServiceMode: 'disabled' }, Ipns: { DelegatedPublishers: [] }, HTTPRetrieval: { Enabled: false } },
    Addresses: { Swarm: ['/ip4/127.0.0.1/tcp/0'], API: '/ip4/127.0.0.1/tcp/0', Gateway: '/ip4/127.0.0.1/tcp/0' },
    Swarm: { DisableNatPortMap: true, RelayClient: { Enabled: false }, RelayService: { Enabled: false } },
    // The gateway serves only blocks that this Kubo has.
    Gateway: { NoFetch: true, NoDNSLink: true },
  }
  await change(file, config => {
    Object.assign(config, own)
    const { Spec } = config.Datastore as { Spec: { mounts: Array<{ type: string; sync?: boolean }> } }
    for (const mount of Spec.mounts) if (mount.type === 'flatfs') mount.sync = isSynced
  })
}

async function change(file: string, by: (config: Record<string, object>) => void): Promise<void> {
  const config = JSON.parse(await readFile(file, 'utf8')) as Record<string, object>
  by(config)
  await writeFile(file, JSON.stringify(config))
}

function urlOf(multiaddr: string): string {
  const [, , host, , port] = multiaddr.split('/')
  return `http://${host}:${port}`
}
