import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nextTurn, turnSpent } from '../../src/concurrency/turns.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { apiRequest, directClient, readBody } from './client.ts'
import { GatewayWorld } from './world.ts'

const MIB = 1024 ** 2
let world: GatewayWorld
let dir: string

beforeEach(async () => {
  world = await GatewayWorld.open()
  dir = await mkdtemp(join(tmpdir(), 'holdfast-denylist-'))
})

afterEach(async () => {
  await world.close()
  await rm(dir, { recursive: true, force: true })
})

function bodyOf(response: { body: unknown }): AsyncIterator<Uint8Array> {
  return (response.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
}

test('a stream keeps its content and its slot until it ends', async () => {
  const cid = await world.addFile(pseudoRandom(4 * MIB))
  const gateway = world.gateway({ maxConcurrentRequests: 1 })
  for (const end of ['read', 'closed', 'closed unread', 'aborted'] as const) {
    const client = new AbortController()
    const response = await gateway(apiRequest('GET', `/ipfs/${cid}`, {}, client.signal))
    const body = bodyOf(response)
    if (end !== 'closed unread') await body.next()
    expect(world.leases.held().size).toBe(1)
    const waiting = gateway(apiRequest('GET', `/ipfs/${cid}`))
    world.clock.advance(15_000)
    const refused = await waiting
    expect(refused.status).toBe(503)
    expect(refused.headers['retry-after']).toBe('1')
    if (end === 'read') while ((await body.next()).done !== true);
    else if (end === 'aborted') client.abort()
    else await body.return?.()
    expect(world.leases.held().size, end).toBe(0)
  }
  // An error before the body also frees the slot.
  for (let round = 0; round < 3; round++)
    expect((await gateway(apiRequest('GET', '/ipfs/bafkqaaa/x'))).status).toBe(404)
  expect((await gateway(apiRequest('HEAD', `/ipfs/${cid}`))).status).toBe(200)
  expect((await gateway(apiRequest('GET', `/ipfs/${cid}`))).status).toBe(200)
})

test('idle readers of one address lose their slots to another address', async () => {
  const cid = await world.addFile(pseudoRandom(8 * MIB))
  const gateway = world.gateway({ maxConcurrentRequests: 3 })
  const from = (remoteAddress: string) => gateway({ ...apiRequest('GET', `/ipfs/${cid}`), remoteAddress })
  const bodies = (await Promise.all([1, 2, 3].map(() => from('198.51.100.1')))).map(bodyOf)
  world.clock.advance(8_000)
  await bodies[0]?.next()
  world.clock.advance(4_000)
  await bodies[0]?.next()
  expect((await from('203.0.113.1')).status).toBe(200)
  await expect(bodies[1]?.next()).rejects.toMatchObject({ code: 'ABORTED' })
  expect((await bodies[0]?.next())?.done).toBe(false)
  // With one answer each, no address exceeds its share.
  const timers = world.clock.waiting
  const third = from('203.0.113.1')
  // On a busy machine, it waits for a turn before it waits for a slot.
  while (world.clock.waiting === timers) await nextTurn()
  world.clock.advance(15_000)
  expect((await third).status).toBe(503)
})

test('addresses take turns before the gateway looks at their requests', async () => {
  const cid = await world.addFile('small')
  const gateway = world.gateway()
  const served: string[] = []
  const ask = async (remoteAddress: string): Promise<void> => {
    await gateway({ ...apiRequest('HEAD', `/ipfs/${cid}`), remoteAddress })
    served.push(remoteAddress)
  }
  const [many, one] = ['198.51.100.1', '203.0.113.1']
  // The turn is spent, so all requests wait for the next one.
  while (!turnSpent());
  await Promise.all([...Array.from({ length: 20 }, () => ask(many)), ask(one)])
  expect(served.indexOf(one)).toBeLessThan(5)
})

test('an answer over its time limit fails and releases its content', async () => {
  const cid = await world.addFile(pseudoRandom(4 * MIB))
  const response = await world.gateway({ maxDurationSeconds: 60 })(apiRequest('GET', `/ipfs/${cid}`))
  const body = bodyOf(response)
  await body.next()
  world.clock.advance(59_999)
  expect((await body.next()).done).toBe(false)
  world.clock.advance(1)
  expect(world.leases.held().size).toBe(0)
  await expect(body.next()).rejects.toThrow(/longer than 60 s/)
  expect(world.logged.some(({ message }) => message === 'gateway response failed midway')).toBe(true)
  expect(world.clock.waiting).toBe(0)
})

test('a timelock ends an open answer', async () => {
  const cid = await world.addFile(pseudoRandom(8 * MIB), world.clock.now() + 1000)
  const response = await world.gateway()(apiRequest('GET', `/ipfs/${cid}`))
  const body = bodyOf(response)
  await body.next()
  world.clock.advance(1000)
  const { isBroken, bytes } = await readBody({ ...response, body: { [Symbol.asyncIterator]: () => body } })
  expect(isBroken).toBe(true)
  expect(bytes.length).toBeLessThan(7 * MIB)
})

test('a slow reader causes at most two blocks to be read ahead', async () => {
  const cid = await world.addFile(pseudoRandom(8 * MIB))
  const reads: Promise<unknown>[] = []
  const lease = world.content.lease.bind(world.content)
  world.content.lease = asked => {
    const held = lease(asked)
    if (held === null) return null
    const get = held.source.read.bind(held.source)
    held.source.read = (...args) => {
      const block = get(...args)
      reads.push(block)
      return block
    }
    return held
  }
  const response = await world.gateway()(apiRequest('GET', `/ipfs/${cid}?filename=x.bin`))
  const body = bodyOf(response)
  for (let taken = 1; taken <= 8; taken++) {
    await body.next()
    // Lets all started reads finish and reach the walk before the slow reader continues.
    await Promise.all(reads)
    await setImmediate()
    // The root, the sent block, and the waiting one.
    if (taken > 4) expect(reads.length).toBeLessThanOrEqual(1 + taken + 1)
  }
  expect((await body.next()).done).toBe(true)
  expect(reads.length).toBe(9)
})

test('only sent chunks are freed', async () => {
  const bytes = pseudoRandom(3 * MIB)
  const cid = await world.addFile(bytes)
  const { body } = await world.gateway()(apiRequest('GET', `/ipfs/${cid}`))
  if (body === null || typeof body === 'string' || body instanceof Uint8Array) throw new Error('no stream')
  const kept: Buffer[] = []
  for await (const chunk of body) {
    kept.push(Buffer.from(chunk))
    body.discard?.(chunk)
    expect(chunk.length).toBe(0)
  }
  expect(Buffer.concat(kept).equals(bytes)).toBe(true)
  // A block sent in several parts stays until the last part.
  const one = await world.addFile(bytes.subarray(0, MIB))
  const ranges = await world.gateway()(apiRequest('GET', `/ipfs/${one}`, { range: 'bytes=0-99999,200000-399999' }))
  const parts: Buffer[] = []
  for await (const chunk of ranges.body as AsyncIterable<Uint8Array> & typeof body) {
    parts.push(Buffer.from(chunk))
    body.discard?.(chunk)
  }
  expect(Buffer.concat(parts).includes(bytes.subarray(200_000, 400_000))).toBe(true)
})

test('an allow-list admits only requests for a listed CID', async () => {
  const listed = await world.addDirectory({ a: 'in the list' })
  const other = await world.addFile('in no list')
  const { request } = directClient(world.gateway({ mode: 'allow-list', allow: [listed.toString()] }))
  expect((await request('GET', `/ipfs/${listed}/a`)).text).toBe('in the list')
  expect((await request('GET', `/ipfs/${other}`)).status).toBe(404)
  expect(() => world.gateway({ mode: 'allow-list', allow: ['x'] })).toThrow(/gateway.allow/)
})

test('a change of the denylist file blocks content on every path', async () => {
  const file = join(dir, 'list.deny')
  await writeFile(file, '')
  const blocked = await world.addFile('blocked')
  const tree = await world.addDirectory({ sub: { 'blocked.txt': 'blocked', 'fine.txt': 'fine' } })
  const { request } = directClient(world.gateway({ denylist: file }))
  const paths = [`/ipfs/${blocked}`, `/ipfs/${tree}/sub/blocked.txt`, `/ipfs/${blocked}?format=raw`]
  for (const path of paths) expect((await request('GET', path)).status).toBe(200)
  await writeFile(file, `/ipfs/${blocked} gateway_status:451\n/ipfs/${tree}/sub/fine*`)
  world.clock.advance(1000)
  for (const path of paths) {
    const answer = await request('GET', path)
    expect(answer.status).toBe(451)
    expect(JSON.parse(answer.text).code).toBe('LEGAL_REASONS')
  }
  expect((await request('GET', `/ipfs/${tree}/sub/fine.txt`)).status).toBe(410)
  const listing = await request('GET', `/ipfs/${tree}/sub/?format=json`)
  expect(listing.status).toBe(200)
  expect((await request('GET', `/ipfs/${tree}?format=car`)).status).toBe(451)
  // An unreadable list leaves the previous one in force.
  await rm(file)
  world.clock.advance(1000)
  expect((await request('GET', paths[0] ?? '')).status).toBe(451)
  await writeFile(file, '# nothing')
  await utimes(file, 1, 1)
  world.clock.advance(1000)
  expect((await request('GET', paths[0] ?? '')).status).toBe(200)
})

test('nothing is served until the denylist has been readable once', async () => {
  const cid = await world.addFile('x')
  const { request } = directClient(world.gateway({ denylist: join(dir, 'missing.deny') }))
  expect((await request('GET', `/ipfs/${cid}`)).status).toBe(503)
})
