import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import type { FleetRequest } from '../../../adapters/fleet/node-sender.ts'
import { ForwardingNodes } from '../../../adapters/fleet/other-nodes.ts'
import type { Principal } from '../../../src/access/principal.ts'
import { Slots } from '../../../src/concurrency/slots/slots.ts'
import { systemClock } from '../../../src/domain/clock.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'
import { formBody } from '../../../src/domain/form-body.ts'
import type { Forwarded } from '../../../src/http/api-messages.ts'
import type { AuthenticatedContext } from '../../../src/http/route.ts'

const FROM_A = { node: 'a', to: 'b', requestId: 'of-a', client: '192.0.2.1', scheme: null, host: null }

/** Sends a form to the node `b`, which keeps `first`. Returns what `b` forwards. */
async function formAt(
  forwarded: Forwarded | undefined,
  cluster = '',
  { refusing = [], body = null }: { refusing?: string[]; body?: AsyncIterable<Uint8Array> | null } = {},
) {
  const asked: FleetRequest[] = []
  const nodes: string[] = []
  const bounds = { capacity: 1, perOwner: 1, waiting: 1, waitMs: 1_000, what: 'this' }
  const [slots, handOvers] = [new Slots(bounds, systemClock), new Slots(bounds, systemClock)]
  const others = new ForwardingNodes({
    clusters: { mayReceive: id => id !== 'second', defaultCluster: 'first' },
    receiverOf: async (id, away) => {
      if (id === 'second') return 'c'
      return id === 'many' ? (['c', 'd'].find(node => away?.has(node) !== true) ?? null) : null
    },
    sender: {
      send: async (node, request) => {
        asked.push(request)
        nodes.push(node)
        if (refusing.includes(node)) {
          for await (const _ of (body === null ? [] : request.body) as AsyncIterable<Uint8Array>) break
          throw new HoldfastError('UNAVAILABLE', `${node} refuses`)
        }
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
      body: body ?? (async function* () {})(),
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
  const handOver = async (handedTo = 'second') => {
    const here = await answer()
    if (!('handOver' in here)) return null
    assert.ok(here.handOver !== undefined)
    return here.handOver({ node: 'c', cluster: handedTo, signal, ...formBody([]) })
  }
  return { asked, nodes, answer, handOver, slots, handOvers }
}

test('a handed-over upload is not handed over again', async () => {
  const once = await formAt(FROM_A)
  expect(await once.handOver()).toMatchObject({ status: 201 })
  expect(once.asked).toMatchObject([{ method: 'POST', target: '/api/v3/files?a=b', client: { isDecided: true } }])
  const { 'content-type': type, ...others } = once.asked[0]?.headers ?? {}
  expect([type?.split(';')[0], others]).toEqual(['multipart/form-data', { 'x-cluster': 'second', accept: 'x' }])
  const twice = await formAt({ ...FROM_A, isDecided: true })
  expect([await twice.handOver(), twice.asked]).toEqual([null, []])
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

test('a request goes to the next node if one refuses it', async () => {
  const next = await formAt(undefined, 'many', { refusing: ['c'] })
  expect(await next.answer()).toMatchObject({ status: 201 })
  expect(next.nodes).toEqual(['c', 'd'])
  const here = await formAt(undefined, 'many', { refusing: ['c', 'd'] })
  expect(await here.answer()).toHaveProperty('handOver')
  expect([here.nodes, here.slots.state.running]).toEqual([['c', 'd'], 0])
})

test('a hand-over goes to the next node if one refuses it', async () => {
  const next = await formAt(undefined, '', { refusing: ['c'] })
  expect(await next.handOver('many')).toMatchObject({ status: 201 })
  expect(next.nodes).toEqual(['c', 'd'])
  const none = await formAt(undefined, '', { refusing: ['c'] })
  await expect(none.handOver()).rejects.toThrow('c refuses')
  expect([none.nodes, none.handOvers.state.running]).toEqual([['c'], 0])
})

test('a request whose body was sent goes to no other node', async () => {
  const body = (async function* () {
    yield new Uint8Array(9)
  })()
  const sent = await formAt(undefined, 'many', { refusing: ['c'], body })
  await expect(sent.answer()).rejects.toThrow('c refuses')
  expect(sent.nodes).toEqual(['c'])
})

test('a node of the cluster keeps what another node forwards', async () => {
  const { answer, nodes } = await formAt(FROM_A, 'many')
  expect(await answer()).toHaveProperty('handOver')
  expect(nodes).toEqual([])
})
