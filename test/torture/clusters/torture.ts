import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pseudoRandom } from '../../support/bytes.ts'
import { Draws } from '../../support/draws.ts'
import { startPostgres } from '../../support/postgres-server.ts'
import { EMPTY, storeSizes } from '../../support/store-inspection.ts'
import { now } from '../account-log.ts'
import { Load } from '../load.ts'
import type { Tortured, TortureOptions } from '../torture.ts'
import { ACTS } from './acts.ts'
import {
  acceptForeignPins,
  checkAgreement,
  hasCopy,
  pinState,
  type Reconciled,
  reconcile,
  untilQuiet,
  without,
} from './agreement.ts'
import type { Place } from './place.ts'
import type { Asked, Fate } from './proxy.ts'
import { until } from './until.ts'
import { World } from './world.ts'

/** A failure strikes after at most this many answers to one account. The load goes on afterwards. */
const MOST_ANSWERS = 30
const ANSWERS_AFTER = 10
/** Longest outage, and longest wait for answers after a failure, both in ms. */
const AWAY_MS = 1_500
const LATER_MS = 4_000
/** Number of contents that others store in the backend. */
const FOREIGN = 8
const BETWEEN_HANDS_MS = 150
/** Every so many rounds leases are waited for in real time instead of moving the clock. */
const PATIENT_EVERY = 5

/** Failures in the middle of a round, besides those of the backend itself. */
const BLOWS = ['kill the node', 'lose answers', 'hold requests, and stop the node', 'lie'] as const

/**
 * Loads a node whose clusters a real Kubo or IPFS Cluster keeps. It kills either, drops, delays and falsifies their
 * messages, and changes pins by hand. In the end all acknowledged content exists, and nothing else.
 *
 * @throws AssertionError for the first broken promise
 */
export async function torturePlace(
  given: TortureOptions & { open: (home: string) => Promise<Place>; isShared: boolean },
): Promise<Tortured> {
  const { rounds, seed, minutes, progress = () => {}, open, isShared } = given
  const home = await mkdtemp(join(tmpdir(), 'holdfast-place-'))
  const latest = minutes === undefined ? Number.POSITIVE_INFINITY : now() + minutes * 60_000
  const draws = new Draws(seed)
  const done: Tortured = { rounds: 0, acknowledged: 0 }
  const postgres = isShared ? await startPostgres() : null
  let place: Place | null = null
  let world: World | null = null
  try {
    place = await open(home)
    world = await World.make(place, home, { database: (await postgres?.fresh()) ?? null, report: progress })
    const blows = [...BLOWS, ...place.blows]
    const [firstBlow, firstAct] = [draws.below(blows.length), draws.below(ACTS.length)]
    for (let round = 0; round < rounds && now() < latest; round++) {
      const blow = blows[(firstBlow + round) % blows.length] ?? ''
      const act = ACTS[(firstAct + round) % ACTS.length]
      assert.ok(act)
      const marks = [now()]
      const before = world.acknowledged
      const own = draws.fork()
      progress(`round ${round + 1} of ${rounds}: ${blow}; ${act.name}`)
      await runRound(world, blow, own, round)
      done.acknowledged += world.acknowledged - before
      done.rounds++
      await place.settle()
      if ((round + 1) % PATIENT_EVERY !== 0) await world.moveClock()
      await world.start()
      await untilQuiet(world)
      marks.push(now())
      if (place.forgetful.includes(blow)) await acceptForeignPins(world)
      if (blow === 'lie' || place.forgetful.includes(blow)) await repairAfterLies(world)
      await act.run(world, own)
      marks.push(now())
      await checkAgreement(world)
      marks.push(now())
      const seconds = marks.slice(1).map((mark, i) => Math.round((mark - (marks[i] ?? 0)) / 1_000))
      progress(`  ${done.acknowledged} acknowledged; load, act and look: ${seconds.join(', ')} s`)
    }
    await readThroughNode(world)
    await checkEmptied(world)
    return done
  } finally {
    await world?.kill()
    await place?.stop()
    await postgres?.stop()
    await rm(home, { recursive: true, force: true })
  }
}

/** Stores the contents of other clients that the load then pins by CID. */
async function storeForeignContent({ place, foreign, theirs }: World): Promise<void> {
  for (let i = 0; i < FOREIGN; i++) {
    const name = `theirs-${i}`
    const content = await place.add(pseudoRandom(10_000 + 300_000 * (i % 3), `foreign ${i}`), name)
    foreign[i] = content
    theirs.set(content.cid, name)
  }
}

/** Runs the load and one failure. In the end the node is killed and everything else runs. */
async function runRound(world: World, blow: string, draws: Draws, round: number): Promise<void> {
  await world.place.recover()
  await storeForeignContent(world)
  await world.start()
  const theirs = world.foreign.map(({ cid, hash }) => ({ cid, hashes: { '': hash }, expiresAt: null, isFetched: true }))
  const loads = world.tenants.map(tenant => {
    const extras = { common: `common ${round}`, theirs, isGuest: tenant.key !== undefined }
    return new Load(world.clientOf(tenant), tenant.log, false, true, extras)
  })
  const answered = (each: number) => Promise.race(loads.map(load => load.answered(each)))
  const over = new AbortController()
  const hands = interfere(world, draws.fork(), over.signal)
  try {
    const soon = answered(1 + draws.below(MOST_ANSWERS))
    const labels = loads.map((_, i) => `round ${round} ${i} ${draws.below(2 ** 31)}`)
    const running = Promise.all(loads.map((load, i) => load.run(draws.fork(), labels[i] ?? '')))
    await Promise.race([soon, running])
    await strike(world, blow, draws)
    await Promise.race([answered(MOST_ANSWERS + ANSWERS_AFTER), running, sleep(LATER_MS)])
    for (const load of loads) load.end()
    await running
    over.abort()
    await hands
    await world.kill()
    world.place.proxy.calm()
  } finally {
    over.abort()
    for (const load of loads) load.end()
    await hands
  }
}

/** Causes a failure and ends it again. */
async function strike(world: World, blow: string, draws: Draws): Promise<void> {
  const { place } = world
  const away = () => sleep(draws.below(AWAY_MS))
  if (blow === 'kill the node') {
    await world.kill()
    await away()
    return world.start()
  }
  if (blow === 'lose answers') {
    const isChange = (asked: Asked): boolean => place.isPinRequest(asked) || place.isUnpinRequest(asked)
    place.proxy.judge = (asked): Fate => (isChange(asked) && draws.below(3) === 0 ? 'lose' : 'pass')
    return
  }
  if (blow === 'hold requests, and stop the node') {
    place.proxy.judge = async (): Promise<Fate> => {
      await sleep(draws.below(300))
      return 'pass'
    }
    await sleep(200)
    world.server.signal('SIGSTOP')
    await away()
    world.server.signal('SIGCONT')
    return
  }
  if (blow === 'lie') {
    const { name, judge } = place.liar(draws)
    world.report(`  it ${name}`)
    place.proxy.judge = judge
    world.liar = judge
    return
  }
  await place.strike(blow)
  await away()
  await place.recover()
}

/** Pins and unpins content as other users of the backend do, until the signal. Some of it is pinned by the node too. */
async function interfere(world: World, draws: Draws, over: AbortSignal): Promise<void> {
  const { place, theirs, open, foreign } = world
  const contents = world.tenants.flatMap(({ log }) => log.contents.map(({ cid }) => cid))
  for (let i = 0; !over.aborted; i++) {
    await sleep(BETWEEN_HANDS_MS)
    const cids = [...contents, ...foreign.map(({ cid }) => cid)]
    const cid = cids[draws.below(cids.length)] ?? ''
    const name = `by-hand-${i}`
    const isPinned = theirs.has(cid)
    if (isPinned && foreign.some(other => other.cid === cid)) continue
    open.add(cid)
    try {
      if (isPinned) {
        await place.unpinByHand(cid)
        theirs.delete(cid)
      } else if (await place.pinByHand(cid, name)) {
        theirs.set(cid, name)
      } else continue
      open.delete(cid)
    } catch {
      // The backend was down, so the outcome is unknown until the next inspection.
    }
  }
}

/**
 * Checks that a reconciliation finds content that the backend claims and cannot serve, by reading it, even while the
 * place still lies.
 */
async function checkLiesAreFound(world: World): Promise<void> {
  const { place, liar } = world
  if (liar === null) return
  world.liar = null
  await place.collect()
  place.proxy.judge = liar
  const { json } = await world.owner.json<Reconciled>('POST', '/admin/v1/reconcile', { dryRun: true })
  place.proxy.calm()
  const told = new Set(json.findings.map(({ what }) => what))
  const { needed, kept } = await pinState(world)
  for (const cid of without(needed, kept)) {
    assert.ok(told.has(cid) || (await hasCopy(world, cid)), `${cid} is missing, and reading did not find that`)
  }
}

/** Repairs what was lost by a lie or a crash, once the backend answers truthfully. */
async function repairAfterLies(world: World): Promise<void> {
  await checkLiesAreFound(world)
  await world.place.collect()
  await reconcile(world)
  await untilQuiet(world)
}

/** Reads all content through the node after deleting the node's own copies, so that it comes from the backend. */
async function readThroughNode(world: World): Promise<void> {
  await world.end()
  world.isThin = true
  await world.start()
  await until('the node has deleted its copies', async () => {
    await world.owner.json('POST', '/admin/v1/gc', { graceSeconds: 0 })
    return (await storeSizes(world.dataDir)).blockFiles === 0
  })
  await checkAgreement(world)
}

/** Removes all records and checks that nothing is left, on the node or in the backend. */
async function checkEmptied(world: World): Promise<void> {
  await world.start()
  for (const tenant of world.tenants) {
    const client = world.clientOf(tenant)
    for (let listed = await client.list(); listed.length > 0; listed = await client.list()) {
      for (const cid of new Set(listed)) await client.ask('DELETE', `/api/v3/files/remove/${cid}`)
    }
  }
  await untilQuiet(world)
  await until('the backend has no pin of ours', async () => (await pinState(world)).pinned.size === 0)
  assert.equal((await world.owner.json('POST', '/admin/v1/gc', { graceSeconds: 0 })).status, 200)
  await world.end()
  assert.deepEqual(await storeSizes(world.dataDir), EMPTY, 'something is left after everything was removed')
}
