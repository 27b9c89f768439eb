import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { pseudoRandom, sha256Hex } from '../../support/bytes.ts'
import type { Draws } from '../../support/draws.ts'
import { type Content, now } from '../account-log.ts'
import { lookAtTheirs, quiet, reconciled, truth, without } from './agreement.ts'
import type { Fate } from './proxy.ts'
import { until } from './until.ts'
import type { Tenant, World } from './world.ts'

/** What happens in a round once the load has ended, in a world that is quiet. */
export interface Act {
  name: string
  run(world: World, draws: Draws): Promise<void>
}

/** What is pinned for us, and how much of that others take away. */
const MOST_TAKEN = 5

/** A request to let go that is held on its way, as by a network, or by a node that stands still before it is sent. */
interface Held {
  label: string
  cid: string
  release(): void
}

/** Uploads a content, has it placed and removed, and holds the request to let go of it. */
async function holdUnpin(world: World, draws: Draws): Promise<Held> {
  const { place } = world
  const [tenant] = world.tenants as readonly [Tenant]
  const label = `late ${draws.below(2 ** 31)}`
  const { cid } = await upload(world, tenant, label)
  await quiet(world)
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let isHeld = false
  place.proxy.judge = async (asked): Promise<Fate> => {
    // Only the first: what is sent after it overtakes it.
    if (isHeld || !place.isUnpinRequest(asked)) return 'pass'
    isHeld = true
    await released
    return 'pass'
  }
  const acknowledge = tenant.log.removing(cid)
  const { status } = await world.clientOf(tenant).ask('DELETE', `/api/v3/files/remove/${cid}`)
  assert.equal(status, 200)
  acknowledge()
  await until('the place is to let go', async () => isHeld)
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

/** Somebody stores again what is being let go of. */
async function storeAgain(world: World, { label, cid }: Held, draws: Draws): Promise<void> {
  const tenant = world.tenants[draws.below(world.tenants.length)]
  assert.ok(tenant)
  assert.equal((await upload(world, tenant, label)).cid, cid)
}

/** Lets what is held go, and everything else through. */
async function release(world: World, held: Held): Promise<void> {
  held.release()
  world.place.proxy.calm()
  await until('it has arrived', async () => world.place.proxy.underWay === 0)
}

async function takeAway(world: World, draws: Draws): Promise<void> {
  const ours = (await world.place.pins()).filter(({ name }) => name.startsWith('holdfast:'))
  for (let i = 0; i < MOST_TAKEN && ours.length > 0; i++) {
    const [pin] = ours.splice(draws.below(ours.length), 1)
    if (pin !== undefined) await world.place.unpinByHand(pin.cid)
  }
}

async function addMarked(world: World, draws: Draws): Promise<void> {
  const { mark, needed } = await truth(world)
  for (const { cid } of world.foreign) {
    if (mark !== null && !needed.has(cid) && draws.below(3) > 0) await world.place.pinAsMarked(mark, cid)
    if (draws.below(3) > 0) continue
    // Ours stays, if there is one.
    await world.place.unpinByHand(cid)
    world.theirs.delete(cid)
  }
}

/** In turn, so that a few rounds have them all. */
export const ACTS: readonly Act[] = [
  { name: 'nothing', run: async () => undefined },
  {
    name: 'stored again while the request to let go is held',
    async run(world, draws) {
      const held = await holdUnpin(world, draws)
      await storeAgain(world, held, draws)
      await release(world, held)
    },
  },
  {
    name: 'killed, stored again, and let go of in time',
    async run(world, draws) {
      const held = await holdUnpin(world, draws)
      await world.kill()
      await world.start()
      await storeAgain(world, held, draws)
      // Long enough for one that waits for nothing to have pinned it again.
      await sleep(1_000 + draws.below(2_000))
      await release(world, held)
      // The lease is waited out, now and then for real.
      if (draws.below(4) === 0) return quiet(world)
      await world.kill()
      await world.pass()
      await world.start()
    },
  },
  {
    name: 'let go of after the lease',
    async run(world, draws) {
      const held = await holdUnpin(world, draws)
      await world.kill()
      // Against all that is promised, it arrives later still: what is here is there to mend it.
      await world.pass({ isHeld: true })
      await world.start()
      await storeAgain(world, held, draws)
      await quiet(world)
      await release(world, held)
      const { needed, kept } = await truth(world)
      assert.deepEqual(without(needed, kept), [held.cid], 'what was let go of is what is missing')
      await reconciled(world)
    },
  },
  {
    name: 'stopped while the request to let go is held',
    async run(world, draws) {
      const held = await holdUnpin(world, draws)
      world.server.signal('SIGSTOP')
      held.release()
      world.place.proxy.calm()
      await until('it has arrived', async () => !(await truthOf(world)).has(held.cid))
      world.server.signal('SIGCONT')
      await storeAgain(world, held, draws)
    },
  },
  {
    name: 'pins taken away and added by hand',
    async run(world, draws) {
      await takeAway(world, draws)
      await addMarked(world, draws)
      await world.place.collect()
      await reconciled(world)
    },
  },
  {
    name: 'everything lost',
    async run(world) {
      await world.place.loseAll()
      await lookAtTheirs(world)
      await reconciled(world)
    },
  },
]

/** Roots that the place has pinned for us, while the node cannot be asked. */
async function truthOf(world: World): Promise<Set<string>> {
  return new Set((await world.place.pins()).map(({ name }) => name.split(' ')[1] ?? ''))
}
