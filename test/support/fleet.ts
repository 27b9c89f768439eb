import assert from 'node:assert/strict'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serverAdapters } from '../../adapters/cli/server-adapters.ts'
import { createServer } from '../../adapters/node-http/index.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { systemClock } from '../../src/domain/clock.ts'
import type { Logger } from '../../src/domain/logger.ts'
import { createEngine, type Engine, type EngineConfig, type EngineOptions, SCOPES } from '../../src/index.ts'
import { settled, TestClock } from '../../src/testing/index.ts'
import { withStandingClock } from './database-clock.ts'
import { newDirectory } from './new-database.ts'

/** One of several nodes on one catalogue, behind an HTTP server. */
export interface FleetNode {
  readonly id: string
  readonly dataDir: string
  /** The same after each start. */
  readonly url: string
  readonly server: Server
  readonly engine: Engine
  /** True while the server takes requests and answers none, as a node that is cut off. */
  isSilent: boolean
  stop(): Promise<void>
  start(): Promise<void>
  /** Stops the node and its HTTP server. */
  close(): Promise<void>
}

export interface Fleet {
  /** `a` keeps the cluster `first`, the default cluster; `b` keeps `second`. */
  a: FleetNode
  b: FleetNode
  /** Id of an account on the plan `unlimited`. */
  account: string
  /** API key of that account, with all scopes. */
  key: string
  database: string
  /** Waits until both nodes, which run, have done what is due and what they left to each other. */
  settled(): Promise<void>
}

/** A fleet whose time stands still. */
export interface StandingFleet extends Fleet {
  /** Moves the clock of the nodes and of the database. */
  advance(ms: number): Promise<void>
  /** Lets time pass until some work ends, for which both nodes run. */
  during<T>(work: Promise<T>): Promise<T>
}

/** Time that passes between two looks at what nodes wait for. */
const STEP_MS = 50

const cluster = { label: '', region: '', country: null, gateways: [] }
/** The two clusters that {@link withFleet} configures on both nodes. */
export const TWO_CLUSTERS = {
  clusters: [
    { ...cluster, id: 'first', node: 'a' },
    { ...cluster, id: 'second', node: 'b' },
  ],
  defaultCluster: 'first',
}

type NodeConfig = EngineConfig & { clock: Clock; logger?: Logger; asNew?: boolean } & Pick<
    EngineOptions,
    'adapters' | 'backends' | 'environment'
  >

/** Runs a test with two nodes that share an empty database. */
export async function withFleet(
  database: string,
  run: (fleet: Fleet) => Promise<void>,
  { clock = systemClock, ...config }: EngineConfig & { clock?: Clock; logger?: Logger } = {},
): Promise<void> {
  const { a, b, close } = await openFleet({ database, clock, ...TWO_CLUSTERS, ...config })
  try {
    const { id: account } = await a.engine.accounts.create({ email: 'one@example.org', plan: 'unlimited' })
    const { secret: key } = await a.engine.keys.create(account, { name: 'all', scopes: SCOPES })
    await run({ a, b, account, key, database, settled: () => settled([a.engine, b.engine]) })
  } finally {
    await close()
  }
}

/** Runs a test as {@link withFleet} does, on one clock for nodes and database. Work ends only by the test's doing. */
export async function withStandingFleet(
  database: string,
  run: (fleet: StandingFleet) => Promise<void>,
  config: EngineConfig & { logger?: Logger } = {},
): Promise<void> {
  const clock = new TestClock()
  const standing = await withStandingClock(database, clock.now())
  const advance = async (ms: number): Promise<void> => {
    await standing.advance(ms)
    clock.advance(ms)
  }
  const withTime = async (fleet: Fleet): Promise<void> => {
    const during = async <T>(work: Promise<T>): Promise<T> => {
      let isEnded = false
      const ended = work.finally(() => {
        isEnded = true
      })
      // The caller gets the error below.
      ended.catch(() => undefined)
      while (!isEnded) {
        await fleet.settled()
        await advance(STEP_MS)
      }
      return ended
    }
    await run({ ...fleet, advance, during })
  }
  try {
    await withFleet(standing.url, withTime, { ...config, clock })
  } finally {
    await standing.close()
  }
}

/**
 * Starts the nodes `a`, `b` and perhaps `c`, each with its own data directory. The caller closes them. Node `a` gets
 * the backends.
 */
export async function openFleet(
  config: NodeConfig,
  count: 2 | 3 = 2,
): Promise<{ a: FleetNode; b: FleetNode; nodes: FleetNode[]; close(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-fleet-'))
  const a = await fleetNode('a', join(directory, 'a'), config)
  // Only the node of a cluster gets its backend.
  const { backends: _, ...others } = config
  const startOther = async (id: string): Promise<FleetNode> => {
    const dataDir = join(directory, id)
    // Each node decrypts secrets that the others have encrypted in the database.
    await mkdir(dataDir, { mode: 0o700 })
    await copyFile(join(a.dataDir, 'data.key'), join(dataDir, 'data.key'))
    return fleetNode(id, dataDir, others)
  }
  const b = await startOther('b')
  const nodes = [a, b, ...(count === 3 ? [await startOther('c')] : [])]
  const close = async (): Promise<void> => {
    await Promise.all(nodes.map(node => node.close()))
    await rm(directory, { recursive: true })
  }
  return { a, b, nodes, close }
}

/** Starts a node whose server keeps its port while the engine is stopped. The caller closes it. */
export async function fleetNode(id: string, dataDir: string, { asNew, ...config }: NodeConfig): Promise<FleetNode> {
  let engine: Engine | null = null
  const running = (): Engine => {
    assert.ok(engine !== null, `the node ${id} is not running`)
    return engine
  }
  // The server listens while the node is stopped, so that no other process takes its port.
  const server = createServer({
    api: async request => (node.isSilent ? new Promise(() => undefined) : running().api(request)),
    gateway: async request => running().gateway(request),
    trustedProxies: 0,
    stats: async () => running().stats(),
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  const url = `http://127.0.0.1:${address.port}`
  const node: FleetNode = {
    id,
    dataDir,
    url,
    server,
    isSilent: false,
    get engine() {
      return running()
    },
    start: async () => {
      const expected = config.clusters?.some(({ copies = 1 }) => copies > 1) ? { expected: ['a', 'b', 'c'] } : {}
      const node = { id, url, ...expected, ...(asNew === undefined ? {} : { asNew }) }
      engine = await createEngine({ ...serverAdapters, ...config, dataDir: newDirectory(dataDir), node })
      await engine.setPublicUrl(url)
    },
    stop: async () => {
      await engine?.stop()
      engine = null
    },
    close: async () => {
      await node.stop()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  await node.start()
  return node
}
