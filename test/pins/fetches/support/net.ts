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
import { newDirectory } from '../../../support/new-database.ts'
import { withTempDir } from '../../../support/temp-dir.ts'
import { type Block, blockOf } from './dags.ts'
import { MovingClock } from './moving-clock.ts'
import { ScriptedBlocks } from './provider.ts'

/** An engine with networking and an account without limits. It records changes of records. */
export interface Node {
  engine: Engine
  dataDir: string
  account: string
  clock: MovingClock | ManualClock
  /** Status changes as `from>to`, in order. */
  changes: string[]
  /** Returns the reason of the last change. */
  reason(): string | null
  /** Waits until any record has changed to this status. An earlier change counts. */
  reached(status: string): Promise<void>
  newAccount(plan?: string): Promise<string>
  /** Stops the engine and starts another on the same directory. */
  restart(options?: Partial<EngineOptions>): Promise<void>
}

export interface Provider {
  blocks: ScriptedBlocks
  stop(): Promise<void>
  /** Its multiaddr. */
  address: string
  /** Starts again at the same address after a stop. */
  startAgain(): Promise<void>
}

/** Makes the nodes of a test. All stop at its end. */
export interface Net {
  node(options?: Partial<EngineOptions>): Promise<Node>
  /** Starts a peer that serves blocks and is not an engine. It connects to `peers`. */
  provider(blocks: readonly Block[], peers?: string[]): Promise<Provider>
  /** Starts an HTTP server on loopback. Returns its URL. */
  server(listener: RequestListener): Promise<string>
}

/** Timeouts short enough for a test. */
export const quick = { findTimeoutSeconds: 15, waitSeconds: 60, stallSeconds: 15 }
/** Address where nothing listens: port 9 is reserved for discarding. */
export const deadPort = '/ip4/127.0.0.1/tcp/9/p2p/12D3KooWD3bfmNbuuuVCYwkjnFt3ukm3qaB3hDED3peHHXawvRAi'
export const unknownCid = blockOf(0x55, Buffer.from('nobody has this')).cid.toString()

/**
 * Runs with engines whose clock only moves when told, so nothing stalls or times out on a busy machine. Use it if
 * peers' answers end the test. Failed dials are not retried. Connect at most five nodes to one, because libp2p refuses
 * the sixth connection within a second from one host.
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
      dataDir: newDirectory(dataDir),
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
