import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { knownClusters } from '../../../src/domain/cluster.ts'
import { audits } from '../../contract/audits.ts'
import { AUDITS_BEGIN, AuditClock, auditConfig, clientOf, worldOf } from '../../contract/hosts.ts'
import type { AuditClient, World } from '../../contract/world.ts'
import { withStandingClock } from '../../support/database-clock.ts'
import { type FleetNode, openFleet } from '../../support/fleet.ts'
import { needs } from '../../support/needs.ts'
import { needsPostgres, startPostgres } from '../../support/postgres-server.ts'

/** Each node keeps every second cluster. */
const clusters = knownClusters.map((cluster, i) => ({ ...cluster, node: i % 2 === 0 ? 'a' : 'b' }))

/** Maximum number of requests before a change must be visible. */
const MOST_TRIES = 2_000
const CHANGING: ReadonlySet<string> = new Set(['POST', 'PUT', 'DELETE'])
/** Requests that change credentials, of which nodes notify each other. */
const OF_CREDENTIALS = /^\/(api\/v3|admin\/v1)\/(tokens|auth|sessions|users\/me\b(?!\/uploads)|accounts)/

/** Opens two nodes on one catalogue and sends requests to them in turn. */
async function openFleetWorld(): Promise<World & { close(): Promise<void> }> {
  const server = await startPostgres()
  const shared = await mkdtemp(join(tmpdir(), 'holdfast-audit-'))
  const importRoots = [join(shared, 'import')]
  await mkdir(join(shared, 'import'))
  const clock = new AuditClock(AUDITS_BEGIN)
  const database = await withStandingClock(await server.fresh(), clock.now())
  const { a, b, close } = await openFleet({ ...auditConfig, database: database.url, clusters, clock, importRoots })
  const [first, second] = [clientOf(a.server), clientOf(b.server)]
  const told = await watchedChanges(a)
  let turn = 0
  const client: AuditClient = {
    request: async (method, path, options) => {
      const isFirst = turn++ % 2 === 0
      const answer = await (isFirst ? first : second).client.request(method, path, options)
      if (CHANGING.has(method) && OF_CREDENTIALS.test(path)) await (isFirst ? told(a, b) : told(b, a))
      return answer
    },
  }
  const world = worldOf(a.engine, client, clock)
  return {
    ...world,
    advance: async ms => {
      await database.advance(ms)
      await clock.advance(ms)
      // Credentials may be stale until both nodes have checked their notifications.
      await told(a, b)
      await told(b, a)
      // Either node removes expired records shortly after.
      await database.untilNone(`SELECT 1 FROM records WHERE expires_at <= ${clock.now()}`)
    },
    disable: async actor => {
      await world.disable(actor)
      await told(a, b)
    },
    setPassword: async (actor, password) => {
      await world.setPassword(actor, password)
      await told(a, b)
    },
    close: async () => {
      for (const { agent } of [first, second]) agent.destroy()
      await close()
      await database.close()
      await server.stop()
      await rm(shared, { recursive: true })
    },
  }
}

/**
 * Waits until the other node knows a credential change.
 *
 * Notifications arrive in order. So this changes one more account and waits for that change.
 */
async function watchedChanges(node: FleetNode): Promise<(from: FleetNode, to: FleetNode) => Promise<void>> {
  const { accounts, keys } = node.engine
  const { id } = await accounts.create({ email: 'watched@example.org', plan: 'unlimited' })
  const { secret } = await keys.create(id, { name: 'watched', scopes: ['files:read'] })
  let isDisabled = false
  const one = async (from: FleetNode, to: FleetNode): Promise<void> => {
    isDisabled = !isDisabled
    await from.engine.accounts.setDisabled(id, isDisabled)
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const answer = await fetch(`${to.url}/api/v3/users/me`, { headers: { 'x-api-key': secret } })
      await answer.arrayBuffer()
      if (answer.status === (isDisabled ? 403 : 200)) return
    }
    throw new Error('a change of credentials was never told')
  }
  let last: Promise<void> = Promise.resolve()
  return (from, to) => {
    last = last.then(() => one(from, to))
    return last
  }
}

const isHeavy = (process.env.HOLDFAST_TEST_HEAVY ?? '') !== ''
const options = isHeavy ? needsPostgres : needs(false, 'two nodes are audited with HOLDFAST_TEST_HEAVY=1 only')

describe('the contract on two nodes in turn', options, () => {
  let world: Awaited<ReturnType<typeof openFleetWorld>>

  beforeAll(async () => {
    world = await openFleetWorld()
  })
  afterAll(() => world?.close())

  for (const audit of audits) test(`${audit.id}: ${audit.name}`, () => audit.run(world))
})
