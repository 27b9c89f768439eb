import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import type { FleetRequest } from '../../../adapters/fleet/node-sender.ts'
import { ForwardingNodes } from '../../../adapters/fleet/other-nodes.ts'
import type { Principal } from '../../../src/access/principal.ts'
import { Slots } from '../../../src/concurrency/slots/slots.ts'
import { systemClock } from '../../../src/domain/clock.ts'
import { formBody } from '../../../src/domain/form-body.ts'
import type { Forwarded } from '../../../src/http/api-messages.ts'
import type { AuthenticatedContext } from '../../../src/http/route.ts'

const FROM_A = { node: 'a', to: 'b', requestId: 'of-a', client: '192.0.2.1', scheme: null, host: null }

/** Sends a form to the node `b`, which keeps `first`. Returns what `b` forwards. */
async function formAt(forwarded: Forwarded | undefined, cluster = '') {
  const asked: FleetRequest[] = []
  const bounds = { capacity: 1, perOwner: 1, waiting: 1, waitMs: 1_000, what: 'this' }
  const [slots, handOvers] = [new Slots(bounds, systemClock), new Slots(bounds, systemClock)]
  const others = new ForwardingNodes({
    clusters: { nodeOf: id => (id === 'second' ? 'c' : null), defaultCluster: 'first' },
    sender: {
      send: async (_node, request) => {
        asked.push(request)
        return { status: 201, headers: {}, body: (async function* () {})() }
      },
    },
    slots,
    handOvers,
  })
  const headers: Record<string, string> = {
    'x-cluster': cluster,
    'content-type': 'of the client',
    'content-length': '9',
    accept: 'x',
  }
  const context: AuthenticatedContext = {
    principal: { account: { id: 'one', defaultCluster: null }, credential: {} } as unknown as Principal,
    request: {
      method: 'POST',
      path: '/api/v3/files',
      query: 'a=b',
      header: name => headers[name],
      body: (async function* () {})(),
      signal: new AbortController().signal,
      remoteAddress: '192.0.2.1',
      forwarded,
    },
    query: new URLSearchParams(),
    requestId: 'of-a',
    concerns: () => undefined,
    audits: () => undefined,
    param: () => '',
  }
  const { signal } = context.request
  const answer = () => others.answer(context, 'cluster')
  const handOver = async () => {
    const here = await answer()
    assert.ok('handOver' in here && here.handOver !== undefined)
    return here.handOver({ node: 'c', cluster: 'second', signal, ...formBody([]) })
  }
  return { asked, answer, handOver, slots, handOvers }
}

test('a handed-over upload is not handed over again', async () => {
  const once = await formAt(FROM_A)
  expect(await once.handOver()).toMatchObject({ status: 201 })
  expect(once.asked).toMatchObject([{ method: 'POST', target: '/api/v3/files?a=b', client: { isDecided: true } }])
  const { 'content-type': type, ...others } = once.asked[0]?.headers ?? {}
  expect([type?.split(';')[0], others]).toEqual(['multipart/form-data', { 'x-cluster': 'second', accept: 'x' }])
  const twice = await formAt({ ...FROM_A, isDecided: true })
  await expect(twice.handOver()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  expect(twice.asked).toEqual([])
})

test('a forwarded request is not forwarded again', async () => {
  const ofClient = await formAt(undefined, 'second')
  expect(await ofClient.answer()).toMatchObject({ status: 201 })
  expect(ofClient.asked).toMatchObject([{ method: 'POST', target: '/api/v3/files?a=b' }])
  const ofNode = await formAt(FROM_A, 'second')
  await expect(ofNode.answer()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  expect(ofNode.asked).toEqual([])
})

test('a hand-over waits for a slot of hand-overs, not of forwarded requests', async () => {
  const { asked, handOver, slots, handOvers } = await formAt(undefined)
  await slots.enter('one')
  expect(await handOver()).toMatchObject({ status: 201 })
  expect(handOvers.state).toEqual({ running: 0, waiting: 0 })
  const taken = await handOvers.enter('one')
  const later = handOver()
  await expect.poll(() => handOvers.state.waiting).toBe(1)
  expect(asked).toHaveLength(1)
  taken.leave()
  expect(await later).toMatchObject({ status: 201 })
})
