import { join } from 'node:path'
import { markBlock, pinOptions } from '../../../adapters/ipfs-cluster/mark-block.ts'
import type { BackendDefinition } from '../../../src/domain/cluster.ts'
import { identityOf, parseCid } from '../../../src/ipld/cid.ts'
import { HOLD } from '../../../src/pins/placement/placement-attempt.ts'
import { sha256Hex } from '../../support/bytes.ts'
import type { Draws } from '../../support/draws.ts'
import { AUTH, IpfsCluster, type IpfsClusterPrograms } from '../../support/ipfs-cluster.ts'
import type { Foreign, Liar, Place, PlacedPin } from './place.ts'
import { ApiProxy, type Asked, type Fate } from './proxy.ts'
import { until } from './until.ts'

const PEERS = 3
/** Peers that must have a complete copy. */
const COPIES = 2
const PIN = /^\/pins\/([a-z0-9]+)$/i

type Blow = (typeof BLOWS)[number]
const BLOWS = ['kill a peer', "kill a peer's Kubo", 'kill the peer that is asked', 'kill all peers'] as const

/** An IPFS Cluster of three peers, each with its own Kubo. */
export class IpfsClusterPlace implements Place {
  readonly blows = BLOWS
  // A peer persists what it has agreed to a little later, so a crash loses it.
  readonly forgetful = ['kill the peer that is asked', 'kill all peers'] as const
  readonly copies = COPIES
  readonly auth = AUTH
  readonly proxy: ApiProxy
  readonly #gateways: readonly ApiProxy[]
  readonly #cluster: IpfsCluster

  private constructor(cluster: IpfsCluster, proxy: ApiProxy, gateways: readonly ApiProxy[]) {
    this.#cluster = cluster
    this.proxy = proxy
    this.#gateways = gateways
  }

  static async start(programs: IpfsClusterPrograms, dir: string): Promise<IpfsClusterPlace> {
    const cluster = await IpfsCluster.start(programs, join(dir, 'cluster'), PEERS)
    const gateways = await Promise.all(cluster.peers.map(() => ApiProxy.start()))
    const place = new IpfsClusterPlace(cluster, await ApiProxy.start(), gateways)
    await place.recover()
    return place
  }

  get backend(): BackendDefinition {
    return {
      ...{ type: 'ipfs-cluster', api: this.proxy.base, authEnv: 'TORTURE_AUTH', gateways: this.gateways },
      ...{ replicationMin: COPIES, replicationMax: PEERS },
    }
  }

  get gateways(): readonly string[] {
    return this.#gateways.map(({ base }) => base)
  }

  async strike(blow: string): Promise<void> {
    const [first, second, third] = this.#cluster.peers
    const struck: Record<Blow, () => Promise<unknown>> = {
      'kill a peer': async () => second?.end('SIGKILL'),
      "kill a peer's Kubo": async () => third?.endKubo('SIGKILL'),
      'kill the peer that is asked': async () => first?.end('SIGKILL'),
      'kill all peers': () => Promise.all(this.#cluster.peers.map(peer => peer.end('SIGKILL'))),
    }
    await struck[blow as Blow]()
  }

  async recover(): Promise<void> {
    const { peers, first } = this.#cluster
    for (const peer of peers) await peer.start()
    this.proxy.target = first.api
    for (const [i, peer] of peers.entries()) {
      const gateway = this.#gateways[i]
      if (gateway !== undefined) gateway.target = peer.gateway
    }
    await this.#connect()
  }

  async settle(): Promise<void> {
    const { peers, first } = this.#cluster
    await until('all peers answer', async () => (await first.ask('GET', '/pins?filter=cluster_error')).trim() === '')
    await until('all peers agree', async () => {
      const lists = await Promise.all(peers.map(peer => peer.ask('GET', '/allocations')))
      const [one = '', ...others] = lists.map(list => list.split('\n').sort().join('\n'))
      return others.every(other => other === one)
    })
  }

  /** Connects the Kubos to each other. They have no other peers, and take new ports at each start. */
  async #connect(): Promise<void> {
    for (const peer of this.#cluster.peers) {
      const { Addresses } = JSON.parse(await peer.rpc('id')) as { Addresses: string[] | null }
      for (const other of this.#cluster.peers) {
        if (other !== peer) await other.rpc(`swarm/connect?arg=${Addresses?.[0] ?? ''}`)
      }
    }
  }

  async pins(): Promise<PlacedPin[]> {
    const lines = (await this.#cluster.first.ask('GET', '/allocations')).split('\n').filter(line => line !== '')
    const pins = lines.map(line => JSON.parse(line) as { cid: string; name: string })
    const copies = new Map<string, number>()
    for (const peer of this.#cluster.peers) {
      const { Keys = {} } = JSON.parse(await peer.rpc('pin/ls?type=recursive')) as { Keys?: object }
      for (const cid of Object.keys(Keys)) copies.set(cid, (copies.get(cid) ?? 0) + 1)
    }
    return pins.map(({ cid, name }) => ({ cid, name, isKept: (copies.get(cid) ?? 0) >= COPIES }))
  }

  async add(content: Buffer, name: string): Promise<Foreign> {
    const body = new FormData()
    body.set('file', new Blob([new Uint8Array(content)]))
    const path = '/api/v0/add?pin=false&cid-version=1&raw-leaves=true&progress=false'
    const answer = await fetch(`${this.#cluster.first.rpcUrl}${path}`, { method: 'POST', body })
    const { Hash: cid } = (await answer.json()) as { Hash: string }
    await this.pinByHand(cid, name)
    return { cid, hash: sha256Hex(content) }
  }

  async pinByHand(cid: string, name: string): Promise<boolean> {
    await this.#cluster.first.ask('POST', `/pins/${cid}?name=${encodeURIComponent(name)}`)
    return true
  }

  async unpinByHand(cid: string): Promise<void> {
    await this.#cluster.first.ask('DELETE', `/pins/${cid}`)
  }

  async pinAsMarked(mark: string, root: string): Promise<void> {
    const block = await markBlock(mark, identityOf(parseCid(root)))
    const { name, metadata } = pinOptions(block, [HOLD], null)
    await this.#cluster.first.put(block.bytes, 'dag-cbor')
    const meta = Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`meta-${key}`, value]))
    const query = new URLSearchParams({ name, ...meta })
    await this.#cluster.first.ask('POST', `/pins/${block.cid}?${query}`)
  }

  async hashesOf(cid: string, path: string): Promise<Array<string | null>> {
    const target = [cid, ...path.split('/').filter(part => part !== '')].map(encodeURIComponent).join('/')
    return Promise.all(
      this.#gateways.map(async gateway => {
        const answer = await fetch(`${gateway.target}/ipfs/${target}`)
        const bytes = Buffer.from(await answer.arrayBuffer())
        return answer.status === 200 ? sha256Hex(bytes) : null
      }),
    )
  }

  async collect(): Promise<void> {
    for (const peer of this.#cluster.peers) await peer.rpc('repo/gc?quiet=true')
  }

  async loseAll(): Promise<void> {
    for (const peer of this.#cluster.peers) await peer.loseKubo()
    await this.recover()
  }

  isPinRequest({ method, url }: Asked): boolean {
    return method === 'POST' && PIN.test(url.pathname)
  }

  isUnpinRequest({ method, url }: Asked): boolean {
    return method === 'DELETE' && PIN.test(url.pathname)
  }

  liar(draws: Draws): Liar {
    const said = new Map<string, object>()
    return draws.pick<Liar>([
      {
        name: 'confirms and lists a pin that it does not have',
        judge: async asked => {
          const { url } = asked
          const cid = url.pathname.split('/').at(-1) ?? ''
          if (this.isPinRequest(asked)) said.set(cid, pinOf(cid, url.searchParams))
          const pin = said.get(cid)
          if (pin !== undefined && !this.isUnpinRequest(asked)) return { status: 200, body: JSON.stringify(pin) }
          return url.pathname === '/pins' ? this.#statuses(url, said) : 'pass'
        },
      },
      {
        name: 'confirms a pin and does not list it',
        judge: asked => {
          const cid = asked.url.pathname.split('/').at(-1) ?? ''
          const pin = pinOf(cid, asked.url.searchParams)
          return this.isPinRequest(asked) ? { status: 200, body: JSON.stringify(pin) } : 'pass'
        },
      },
      {
        name: 'confirms an unpin and keeps the pin',
        judge: asked => {
          const cid = asked.url.pathname.split('/').at(-1) ?? ''
          const pin = pinOf(cid, asked.url.searchParams)
          return this.isUnpinRequest(asked) ? { status: 200, body: JSON.stringify(pin) } : 'pass'
        },
      },
    ])
  }

  /** Answers a request for statuses: real ones, and `pinned` on all peers for the pins that are lies. */
  async #statuses(url: URL, said: ReadonlyMap<string, object>): Promise<Fate> {
    const cids = (url.searchParams.get('cids') ?? '').split(',')
    const others = cids.filter(cid => !said.has(cid))
    const real = others.length === 0 ? '' : await this.#cluster.first.ask('GET', `/pins?cids=${others.join(',')}`)
    const peers = Array.from({ length: PEERS }, (_, i) => [
      `peer-${i}`,
      { ipfs_peer_id: `kubo-${i}`, status: 'pinned', error: '' },
    ])
    const lies = cids
      .filter(cid => said.has(cid))
      .map(cid => JSON.stringify({ cid, peer_map: Object.fromEntries(peers) }))
    return { status: 200, body: [real.trim(), ...lies].filter(line => line !== '').join('\n') }
  }

  async stop(): Promise<void> {
    await this.#cluster.stop()
    await Promise.all([this.proxy, ...this.#gateways].map(proxy => proxy[Symbol.asyncDispose]()))
  }
}

/** Returns the answer to a pin request with these parameters. */
function pinOf(cid: string, query: URLSearchParams): object {
  const metadata = Object.fromEntries(
    [...query].flatMap(([key, value]) => (key.startsWith('meta-') ? [[key.slice('meta-'.length), value]] : [])),
  )
  const [min, max] = [Number(query.get('replication-min')), Number(query.get('replication-max'))]
  return {
    ...{ cid, type: 'pin', name: query.get('name') ?? '', metadata, origins: [] },
    ...{ replication_factor_min: min, replication_factor_max: max },
  }
}
