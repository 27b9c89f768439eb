import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { pseudoRandom, sha256Hex } from '../../support/bytes.ts'
import type { Draws } from '../../support/draws.ts'
import { type Content, now } from '../account-log.ts'
import { acceptForeignPins, pinState, reconcile, untilQuiet, without } from './agreement.ts'
import type { Fate } from './proxy.ts'
import { until } from './until.ts'
import type { Tenant, World } from './world.ts'

/** An event after the load of a round has ended and nothing is pending. */
export interface Act {
  name: string
  run(world: World, draws: Draws): Promise<void>
}

/** At most this many of our pins are removed by hand. */
const MOST_TAKEN = 5

/** An unpin request that the proxy holds back, as a slow network or a suspended node would. */
interface Held {
  label: string
  cid: string
  release(): void
}

/** Uploads a content, waits until it is placed, removes it, and holds back the unpin request. */
async function holdUnpin(world: World, draws: Draws): Promise<Held> {
  const { place } = world
  const [tenant] = world.tenants as readonly [Tenant]
  const label = `late ${draws.below(2 ** 31)}`
  const { cid } = await upload(world, tenant, label)
  await untilQuiet(world)
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let isHeld = false
  place.proxy.judge = async (asked): Promise<Fate> => {
    // Holds only the first unpin request, so that later requests overtake it.
    if (isHeld || !place.isUnpinRequest(asked)) return 'pass'
    isHeld = true
    await released
    return 'pass'
  }
  const acknowledge = tenant.log.removing(cid)
  const { status } = await world.clientOf(tenant).ask('DELETE', `/api/v3/files/remove/${cid}`)
  assert.equal(status, 200)
  acknowledge()
  await until('the backend has an unpin request', async () => isHeld)
  return { label, cid, release }
}

async function upload(world: World, tenant: Tenant, label: string): Promise<Content> {
  const bytes = pseudoRandom(50_000, label)
  const body = new FormData()
  body.set('file', new Blob([new Uint8Array(bytes)]), label)
  const form = new Response(body)
  const began = now()
  const type = { 'content-type': form.headers.get('content-type') ?? '' }
  const sent = new Uint8Array(await form.arrayBuffer())
  const answer = await world.clientOf(tenant).ask('POST', '/api/v3/files', type, sent)
  assert.equal(answer.status, 201, answer.body.toString())
  const { cid } = JSON.parse(answer.body.toString()) as { cid: string }
  const content = { cid, hashes: { '': sha256Hex(bytes) }, expiresAt: null, worker: 0 }
  tenant.log.storing(content, began)()
  return content
}

/** Uploads a content again whose unpin request is held back. */
async function storeAgain(world: World, { label, cid }: Held, draws: Draws): Promise<void> {
  const tenant = world.tenants[draws.below(world.tenants.length)]
  assert.ok(tenant)
  assert.equal((await upload(world, tenant, label)).cid, cid)
}

/** Releases the held request and lets all others pass. */
async function release(world: World, held: Held): Promise<void> {
  held.release()
  world.place.proxy.calm()
  await until('the held request has arrived', async () => world.place.proxy.underWay === 0)
}

async function unpinSome(world: World, draws: Draws): Promise<void> {
  const ours = (await world.place.pins()).filter(({ name }) => name.startsWith('holdfast:'))
  for (let i = 0; i < MOST_TAKEN && ours.length > 0; i++) {
    const [pin] = ours.splice(draws.below(ours.length), 1)
    if (pin !== undefined) await world.place.unpinByHand(pin.cid)
  }
}

async function addMarkedPins(world: World, draws: Draws): Promise<void> {
  const { mark, needed } = await pinState(world)
  for (const { cid } of world.foreign) {
    if (mark !== null && !needed.has(cid) && draws.below(3) > 0) await world.place.pinAsMarked(mark, cid)
    if (draws.below(3) > 0) continue
    // Removes only the pin of others. Our own pin of the same CID stays.
    await world.place.unpinByHand(cid)
    world.theirs.delete(cid)
  }
}

/** Events, one a round in turn, so that a few rounds cover all. */
export const ACTS: readonly Act[] = [
  { name: 'nothing', run: async () => undefined },
  {
    name: 'stored again while the unpin request is held',
    async run(world, draws) {
      const held = await holdUnpin(world, draws)
      await storeAgain(world, held, draws)
      await release(world, held)
    },
  },
  {
    name: 'killed, stored again, and unpinned within the lease',
    async run(world, draws) {
      const held = await holdUnpin(world, draws)
      await world.kill()
      await world.start()
      await storeAgain(world, held, draws)
      // Long enough for a node that does not wait for the lease to pin it again.
      await sleep(1_000 + draws.below(2_000))
      await release(world, held)
      // Most rounds move the clock past the lease; one in four waits for it.
      if (draws.below(4) === 0) return untilQuiet(world)
      await world.kill()
      await world.moveClock()
      await world.start()
    },
  },
  {
    name: 'unpinned after the lease',
    async run(world, draws) {
      const held = await holdUnpin(world, draws)
      await world.kill()
      // The unpin request arrives even later than a lease allows for, so reconciliation must repair it.
      await world.moveClock({ isHeld: true })
      await world.start()
      await storeAgain(world, held, draws)
      await untilQuiet(world)
      await release(world, held)
      const { needed, kept } = await pinState(world)
      assert.deepEqual(without(needed, kept), [held.cid], 'exactly the unpinned root is missing')
      await reconcile(world)
    },
  },
  {
    name: 'suspended while the unpin request is held',
    async run(world, draws) {
      const held = await holdUnpin(world, draws)
      world.server.signal('SIGSTOP')
      held.release()
      world.place.proxy.calm()
      await until('the held request has arrived', async () => !(await pinnedRoots(world)).has(held.cid))
      world.server.signal('SIGCONT')
      await storeAgain(world, held, draws)
    },
  },
  {
    name: 'pins taken away and added by hand',
    async run(world, draws) {
      await unpinSome(world, draws)
      await addMarkedPins(world, draws)
      await world.place.collect()
      await reconcile(world)
    },
  },
  {
    name: 'everything lost',
    async run(world) {
      await world.place.loseAll()
      await acceptForeignPins(world)
      await reconcile(world)
    },
  },
]

/** Returns the roots pinned for us. It asks the backend only, so it works while the node is suspended. */
async function pinnedRoots(world: World): Promise<Set<string>> {
  return new Set((await world.place.pins()).map(({ name }) => name.split(' ')[1] ?? ''))
}
