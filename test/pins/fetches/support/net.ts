import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { LevelDatastore } from 'datastore-level'
import { serverAdapters } from '../../../../adapters/cli/server-adapters.ts'
import { systemClock } from '../../../../src/domain/clock.ts'
import { silentLogger } from '../../../../src/domain/logger.ts'
import { createEngine, type Engine, type EngineEvents, type EngineOptions } from '../../../../src/index.ts'
import { type NetworkNode, startNetwork } from '../../../../src/network/network-node.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { withTempDir } from '../../../support/temp-dir.ts'
import { type Block, blockOf } from './dags.ts'
import { MovingClock } from './moving-clock.ts'
import { ScriptedBlocks } from './provider.ts'

/** An engine with a network, an account without limits, and what it has told of records. */
export interface Node {
  engine: Engine
  dataDir: string
  account: string
  clock: MovingClock | ManualClock
  /** `from>to` of each change of a record's status, in order. */
  changes: string[]
  /** The last reason that a change came with. */
  reason(): string | null
  /** Resolves when a change of any record to that status is told of; one that was told of before counts. */
  reached(status: string): Promise<void>
  newAccount(plan?: string): Promise<string>
  /** Stops the engine and starts another one on the same directory. */
  restart(options?: Partial<EngineOptions>): Promise<void>
}

export interface Provider {
  blocks: ScriptedBlocks
  stop(): Promise<void>
  /** The address by which it is reached. */
  address: string
  /** After it was stopped, at the same address. */
  startAgain(): Promise<void>
}

/** Makes the participants of a test; all of them are stopped at its end. */
export interface Net {
  node(options?: Partial<EngineOptions>): Promise<Node>
  /** A node that serves blocks and is no engine. It connects to the addresses given, if any. */
  provider(blocks: readonly Block[], peers?: string[]): Promise<Provider>
  /** An HTTP server on loopback. Returns its URL. */
  server(listener: RequestListener): Promise<string>
}

/** Times that are short enough for a test to wait for. */
export const quick = { findTimeoutSeconds: 15, waitSeconds: 60, stallSeconds: 15 }
/** Nothing listens on the port reserved for discarding. */
export const deadPort = '/ip4/127.0.0.1/tcp/9/p2p/12D3KooWD3bfmNbuuuVCYwkjnFt3ukm3qaB3hDED3peHHXawvRAi'
export const unknownCid = blockOf(0x55, Buffer.from('nobody has this')).cid.toString()

/**
 * With engines whose time stands still until it is moved: nothing stalls or is too late, however busy the machine is. For
 * what ends by what others answer. Nothing is tried again either: at most five nodes are to connect to one, since libp2p
 * refuses the sixth within a second from one host.
 */
export function withStillNet<T>(use: (net: Net) => Promise<T>): Promise<T> {
  return withNet(use, () => new ManualClock(Date.now()))
}

export function withNet<T>(
  use: (net: Net) => Promise<T>,
  newClock: () => Node['clock'] = () => new MovingClock(),
): Promise<T> {
  return withTempDir(async dir => {
    const endings: Array<() => Promise<void>> = []
    let made = 0
    const newDir = (): string => join(dir, String(made++))
    try {
      return await use({
        node: async options => {
          const node = await startNode(newDir(), newClock(), options)
          endings.push(() => node.engine.stop())
          return node
        },
        provider: async (blocks, peers = []) => {
          const provider = await startProvider(newDir(), new ScriptedBlocks(blocks), peers)
          endings.push(provider.stop)
          return provider
        },
        server: async listener => {
          const server = createServer(listener)
          await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
          endings.push(async () => {
            server.closeAllConnections()
            server.close()
          })
          return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
        },
      })
    } finally {
      for (const end of endings.reverse()) await end()
    }
  })
}

async function startNode(dataDir: string, clock: Node['clock'], options: Partial<EngineOptions> = {}): Promise<Node> {
  let events: Array<EngineEvents['pin:status']> = []
  let listeners: Array<() => void> = []
  let accounts = 0
  const start = async (changed: Partial<EngineOptions> = {}): Promise<Engine> => {
    const network = { enabled: true, allowPrivateGateways: true, ...options.network, ...changed.network }
    const engine = await createEngine({
      ...serverAdapters,
      clock,
      pin: quick,
      ...options,
      ...changed,
      network,
      dataDir,
    })
    engine.events.on('pin:status', event => {
      events.push(event)
      for (const listener of listeners) listener()
    })
    return engine
  }
  const node: Node = {
    engine: await start(),
    dataDir,
    account: '',
    clock,
    get changes() {
      return events.map(({ from, record }) => `${from}>${record.status}`)
    },
    reason: () => events.at(-1)?.reason ?? null,
    reached: status =>
      new Promise(resolve => {
        const look = (): void => {
          if (events.some(({ record }) => record.status === status)) resolve()
        }
        listeners.push(look)
        look()
      }),
    newAccount: async (plan = 'unlimited') => {
      accounts++
      return (await node.engine.accounts.create({ email: `account${accounts}@example.org`, plan })).id
    },
    restart: async changed => {
      await node.engine.stop()
      events = []
      listeners = []
      node.engine = await start(changed)
    },
  }
  node.account = await node.newAccount()
  return node
}

async function startProvider(dir: string, blocks: ScriptedBlocks, peers: string[]): Promise<Provider> {
  const start = async (listen?: string): Promise<{ node: NetworkNode; stop: () => Promise<void> }> => {
    const datastore = new LevelDatastore(dir)
    await datastore.open()
    const config = { peers, ...(listen !== undefined && { listen: [listen] }) }
    const node = await startNetwork({ config, blocks, datastore, clock: systemClock, logger: silentLogger })
    let stopping: Promise<void> | null = null
    const stop = (): Promise<void> => {
      stopping ??= node.stop().then(() => datastore.close())
      return stopping
    }
    return { node, stop }
  }
  let running = await start()
  const [address = ''] = running.node.addresses()
  return {
    ...{ blocks, address },
    stop: () => running.stop(),
    startAgain: async () => {
      running = await start(address.replace(/\/p2p\/.*/, ''))
    },
  }
}
