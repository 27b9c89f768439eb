import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from '../../adapters/node-http/index.ts'
import { createEngine, type Engine, SCOPES } from '../../src/index.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { newDirectory } from '../support/new-database.ts'

/** A running server for tests of clients, which know only its address. */
export interface Service {
  engine: Engine
  clock: ManualClock
  port: number
  /** `http://127.0.0.1:<port>/api/v3`, as users configure it. */
  base: string
  /** Base URL of the gateway, ending in `/ipfs/`. */
  gateway: string
  /** Creates an account on a plan. */
  customer(plan?: string): Promise<Customer>
  close(): Promise<void>
}

export interface Customer {
  id: string
  email: string
  /** Key with every scope. */
  secret: string
  key(name: string, scopes: string[]): Promise<string>
}

/** Starts a server. The caller closes it. */
export async function openService(): Promise<Service> {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-clients-'))
  const clock = new ManualClock()
  const engine = await createEngine({
    dataDir: newDirectory(dataDir),
    clock,
    passwordCost: 1_024,
    plans: {
      'one-request': {
        ...{ timelock: false, clusters: '*', maxFileBytes: 1_000, maxDirectoryBytes: 2_000, maxDirectoryFiles: 10 },
        ...{ maxStorageBytes: null, maxPins: null, pageLimit: { default: 10, max: 10 } },
        ...{ rateLimit: { requests: 1, windowSeconds: 600 }, accountRateLimit: null },
      },
    },
  })
  const server = createServer(engine)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  const origin = `http://127.0.0.1:${address.port}`
  let customers = 0
  return {
    engine,
    clock,
    port: address.port,
    base: `${origin}/api/v3`,
    gateway: `${origin}/ipfs/`,
    customer: async (plan = 'unlimited') => {
      customers += 1
      const email = `customer-${customers}@example.org`
      const { id } = await engine.accounts.create({ email, plan })
      const key = async (name: string, scopes: string[]): Promise<string> =>
        (await engine.keys.create(id, { name, scopes })).secret
      return { id, email, secret: await key('main', [...SCOPES]), key }
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      await engine.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
