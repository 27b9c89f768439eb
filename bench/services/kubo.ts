import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ChildServer } from '../child-server.ts'
import { findProgram } from '../programs.ts'
import { call, type Service, type ServiceKind } from './service.ts'

const run = promisify(execFile)

/** Returns Kubo with its defaults (flatfs without syncs), with syncs, and on Pebble, if installed. */
export function kuboKinds(): KuboKind[] {
  const program = findProgram('kubo')
  if (program === null) return []
  return [
    { name: 'kubo', start: dir => startKubo(program, dir, {}) },
    { name: 'kubo-sync', start: dir => startKubo(program, dir, { isSynced: true }) },
    { name: 'kubo-pebble', start: dir => startKubo(program, dir, { profile: 'pebbleds' }) },
  ]
}

export interface KuboKind extends ServiceKind {
  start(dir: string): Promise<KuboService>
}

export interface KuboService extends Service {
  /** Multiaddress of its RPC. */
  rpc: string
  /** Connects it to a peer to fetch from. */
  connect(address: string): Promise<void>
  /** Resolves when the DAG is complete. */
  pin(cid: string): Promise<void>
  /** Returns its multiaddress on this machine. */
  address(): Promise<string>
}

interface Flavour {
  profile?: string
  isSynced?: boolean
}

interface Config {
  Datastore: { Spec: { mounts?: Array<{ type: string; sync?: boolean }> } }
  [name: string]: object
}

/**
 * Starts a daemon with its own repository and the profile `unixfs-v1-2025`, with which all subjects create the same
 * CIDs. It stays offline.
 */
export async function startKubo(program: string, dir: string, flavour: Flavour): Promise<KuboService> {
  const env = { ...process.env, IPFS_PATH: join(dir, 'repository'), IPFS_TELEMETRY: 'off' }
  if (!existsSync(env.IPFS_PATH)) await makeRepository(program, env, flavour)
  const daemon = await ChildServer.run(program, ['daemon'], env, /^Daemon is ready/)
  const rpcAddress = await daemon.said(/^RPC API server listening on (\S+)$/)
  const gateway = urlOf(await daemon.said(/^Gateway server listening on (\S+)$/))
  const rpc = (command: string) => ({ method: 'POST', url: `${urlOf(rpcAddress)}/api/v0/${command}`, headers: {} })
  return {
    rpc: rpcAddress,
    pids: [daemon.pid],
    isComparable: true,
    // The profile sets everything else. Wrapping gives a directory's files a common root.
    upload: kind => rpc(`add?progress=false${kind === 'tree' ? '&wrap-with-directory=true' : ''}`),
    rootOf: rootIn,
    read: path => ({ method: 'GET', url: `${gateway}/ipfs/${path}`, headers: {} }),
    status: cid => rpc(`pin/ls?type=recursive&arg=${cid}`),
    remove: cid => rpc(`pin/rm?arg=${cid}`),
    pin: async cid => void (await call(rpc(`pin/add?progress=false&arg=${cid}`))),
    connect: async address => void (await call(rpc(`swarm/connect?arg=${encodeURIComponent(address)}`))),
    collect: async () => void (await call(rpc('repo/gc?quiet=true'))),
    async address() {
      const { Addresses } = JSON.parse(await call(rpc('id'))) as { Addresses: string[] }
      const address = Addresses.find(text => text.startsWith('/ip4/127.0.0.1/tcp/'))
      if (address === undefined) throw new Error(`Kubo is not on loopback: ${Addresses}`)
      return address
    },
    stop: () => daemon.stop(),
  }
}

async function makeRepository(
  program: string,
  env: NodeJS.ProcessEnv,
  { profile, isSynced = false }: Flavour,
): Promise<void> {
  const profiles = ['unixfs-v1-2025', ...(profile === undefined ? [] : [profile])].join(',')
  await run(program, ['init', '--empty-repo', `--profile=${profiles}`], { env })
  const file = join(env.IPFS_PATH ?? '', 'config')
  const config = JSON.parse(await readFile(file, 'utf8')) as Config
  for (const mount of config.Datastore.Spec.mounts ?? []) {
    if (mount.type === 'flatfs') mount.sync = isSynced
  }
  await writeFile(file, JSON.stringify({ ...config, ...LOOPBACK }))
}

const LOOPBACK = {
  ...{ Bootstrap: [], Routing: { Type: 'none' }, Provide: { Enabled: false }, DNS: {} },
  ...{ Discovery: { MDNS: { Enabled: false } }, AutoConf: { Enabled: false }, AutoTLS: { Enabled: false } },
  ...{ AutoNAT: { ServiceMode: 'disabled' }, Ipns: { DelegatedPublishers: [] }, HTTPRetrieval: { Enabled: false } },
  Addresses: { Swarm: ['/ip4/127.0.0.1/tcp/0'], API: '/ip4/127.0.0.1/tcp/0', Gateway: '/ip4/127.0.0.1/tcp/0' },
  Swarm: { DisableNatPortMap: true, RelayClient: { Enabled: false }, RelayService: { Enabled: false } },
}

/** Returns the root, which is the last line of the answer. */
function rootIn(answer: string): string {
  const last = JSON.parse(answer.trim().split('\n').at(-1) ?? '{}') as { Hash?: string }
  if (last.Hash === undefined) throw new Error(`an upload was answered without a CID: ${answer.slice(-300)}`)
  return last.Hash
}

/** Returns the HTTP URL of a multiaddress such as `/ip4/127.0.0.1/tcp/5001`. */
function urlOf(multiaddr: string): string {
  const [, , host, , port] = multiaddr.split('/')
  return `http://${host}:${port}`
}
