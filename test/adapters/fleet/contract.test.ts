import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { knownClusters } from '../../../src/domain/cluster.ts'
import { audits } from '../../contract/audits.ts'
import { AUDITS_BEGIN, AuditClock, auditConfig, clientOf, worldOf } from '../../contract/hosts.ts'
import { auditSignIn } from '../../contract/trusting-provider.ts'
import type { AuditClient, World } from '../../contract/world.ts'
import { withStandingClock } from '../../support/database-clock.ts'
import { type FleetNode, openFleet } from '../../support/fleet.ts'
import { needs } from '../../support/needs.ts'
import { needsPostgres, sharedPostgres } from '../../support/postgres-server.ts'

/** Records move between the first two clusters, which one node keeps. */
const NODES = ['a', 'a', 'b', 'c']
const clusters = knownClusters.map((cluster, i) => ({ ...cluster, node: NODES[i % NODES.length] ?? 'a' }))

/** Maximum number of requests before a change must be visible. */
const MOST_TRIES = 2_000
const CHANGING: ReadonlySet<string> = new Set(['POST', 'PUT', 'DELETE'])
/** Requests that change credentials, of which nodes notify each other. */
const OF_CREDENTIALS = /^\/(api\/v3|admin\/v1)\/(tokens|auth|sessions|users\/me\b(?!\/uploads)|accounts)/

/** Opens three nodes on one catalogue and sends requests to them in turn. */
async function openFleetWorld(): Promise<World & { close(): Promise<void> }> {
  const server = await sharedPostgres()
  const shared = await mkdtemp(join(tmpdir(), 'holdfast-audit-'))
  const importRoots = [join(shared, 'import')]
  await mkdir(join(shared, 'import'))
  const clock = new AuditClock(AUDITS_BEGIN)
  const database = await withStandingClock(await server.migrated(), clock.now())
  const config = { ...auditConfig, ...auditSignIn, database: database.url, clusters, clock, importRoots }
  const { a, nodes, close } = await openFleet(config, 3)
  const hosts = nodes.map(node => ({ node, ...clientOf(node.server) }))
  const told = await watchedChanges(nodes)
  let turn = 0
  const client: AuditClient = {
    request: async (method, path, options) => {
      const host = hosts[turn++ % hosts.length]
      if (host === undefined) throw new Error('there is no node')
      const answer = await host.client.request(method, path, options)
      if (CHANGING.has(method) && OF_CREDENTIALS.test(path)) await told(host.node)
      return answer
    },
  }
  const world = worldOf(a.engine, client, clock)
  return {
    ...world,
    advance: async ms => {
      await database.advance(ms)
      await clock.advance(ms)
      // Credentials may be stale until all nodes have checked their notifications.
      for (const node of nodes) await told(node)
      // Any node removes expired records shortly after.
      await database.untilNone(`SELECT 1 FROM records WHERE expires_at <= ${clock.now()}`)
    },
    disable: async actor => {
      await world.disable(actor)
      await told(a)
    },
    setPassword: async (actor, password) => {
      await world.setPassword(actor, password)
      await told(a)
    },
    close: async () => {
      for (const { agent } of hosts) agent.destroy()
      await close()
      await database.close()
      await server.stop()
      await rm(shared, { recursive: true })
    },
  }
}

/**
 * Returns a function that waits until the other nodes know a credential change of a node.
 *
 * Notifications arrive in order. So this changes one more account and waits for that change.
 */
async function watchedChanges(nodes: readonly FleetNode[]): Promise<(from: FleetNode) => Promise<void>> {
  const [first] = nodes
  if (first === undefined) throw new Error('there is no node')
  const { accounts, keys } = first.engine
  const { id } = await accounts.create({ email: 'watched@example.org', plan: 'unlimited' })
  const { secret } = await keys.create(id, { name: 'watched', scopes: ['files:read'] })
  let isDisabled = false
  const one = async (from: FleetNode): Promise<void> => {
    isDisabled = !isDisabled
    await from.engine.accounts.setDisabled(id, isDisabled)
    await Promise.all(nodes.filter(node => node !== from).map(to => known(to, isDisabled ? 403 : 200)))
  }
  const known = async (to: FleetNode, status: number): Promise<void> => {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const answer = await fetch(`${to.url}/api/v3/users/me`, { headers: { 'x-api-key': secret } })
      await answer.arrayBuffer()
      if (answer.status === status) return
    }
    throw new Error('a change of credentials was never told')
  }
  let last: Promise<void> = Promise.resolve()
  return from => {
    last = last.then(() => one(from))
    return last
  }
}

const isHeavy = (process.env.HOLDFAST_TEST_HEAVY ?? '') !== ''
const options = isHeavy ? needsPostgres : needs(false, 'three nodes are audited with HOLDFAST_TEST_HEAVY=1 only')

describe('the contract on three nodes in turn', options, () => {
  let world: Awaited<ReturnType<typeof openFleetWorld>>

  beforeAll(async () => {
    world = await openFleetWorld()
  })
  afterAll(() => world?.close())

  for (const audit of audits) test(`${audit.id}: ${audit.name}`, () => audit.run(world))
})
