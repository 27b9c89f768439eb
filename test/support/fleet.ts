import assert from 'node:assert/strict'
import { once } from 'node:events'
import { copyFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { join } from 'node:path'
import { createHandler, type NodeHandler } from '../../adapters/node-http/index.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { systemClock } from '../../src/domain/clock.ts'
import { createEngine, type Engine, type EngineConfig, SCOPES } from '../../src/index.ts'
import { withTempDir } from './temp-dir.ts'

/** One of several nodes on one catalogue, behind a server. */
export interface FleetNode {
  readonly id: string
  readonly dataDir: string
  /** `http://127.0.0.1:<port>`, whether it is there or not. */
  readonly url: string
  readonly engine: Engine
  stop(): Promise<void>
  start(): Promise<void>
  /** Stops it for good. */
  close(): Promise<void>
}

export interface Fleet {
  /** `a` keeps the cluster `first`, which is the default one; `b` keeps `second`. */
  a: FleetNode
  b: FleetNode
  /** Of an account on the plan `unlimited`. */
  account: string
  /** Of that account, with all scopes. */
  key: string
  database: string
}

const cluster = { label: '', region: '', country: null, gateways: [] }
const FLEET_CLUSTERS = [
  { ...cluster, id: 'first', node: 'a' },
  { ...cluster, id: 'second', node: 'b' },
]

/** Runs with two nodes that share a database that is empty. */
export function withFleet(
  database: string,
  run: (fleet: Fleet) => Promise<void>,
  { clock = systemClock, ...config }: EngineConfig & { clock?: Clock } = {},
): Promise<void> {
  return withTempDir(async firstDir => {
    await withTempDir(async secondDir => {
      const all = { database, clusters: FLEET_CLUSTERS, defaultCluster: 'first', clock, ...config }
      const a = await fleetNode('a', firstDir, all)
      // What one seals in the database, the other opens.
      copyFileSync(join(firstDir, 'data.key'), join(secondDir, 'data.key'))
      const b = await fleetNode('b', secondDir, all)
      try {
        const { id: account } = await a.engine.accounts.create({ email: 'one@example.org', plan: 'unlimited' })
        const { secret: key } = await a.engine.keys.create(account, { name: 'all', scopes: SCOPES })
        await run({ a, b, account, key, database })
      } finally {
        await Promise.all([a.close(), b.close()])
      }
    })
  })
}

async function fleetNode(id: string, dataDir: string, config: EngineConfig & { clock: Clock }): Promise<FleetNode> {
  let engine: Engine | null = null
  let handler: NodeHandler | null = null
  // The port stays its own while the node is away, so that nobody else is met there.
  const server = createHttpServer((incoming, outgoing) => {
    if (handler === null) incoming.socket.destroy()
    else handler(incoming, outgoing)
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
    get engine() {
      assert.ok(engine !== null, `the node ${id} is not there`)
      return engine
    },
    start: async () => {
      engine = await createEngine({ ...config, dataDir, node: { id, url } })
      await engine.setPublicUrl(url)
      handler = createHandler(engine)
    },
    stop: async () => {
      await engine?.stop()
      engine = null
      handler = null
    },
    close: async () => {
      await node.stop()
      server.closeAllConnections()
      server.close()
    },
  }
  await node.start()
  return node
}
