import assert from 'node:assert/strict'
import { type Content, now } from '../account-log.ts'
import { inspectAccount } from '../inspection.ts'
import type { PlacedPin } from './place.ts'
import { until } from './until.ts'
import type { World } from './world.ts'

/** What names of our pins begin with. */
const MARK = 'holdfast:'
/** Rows of a list. */
const MOST_DIFFERENCES = 5

interface Upload {
  cid: string
  status: string
}

interface Waiting {
  clusters: Array<{ pins: number; unpins: number }>
}

export interface Reconciled {
  found: Record<string, number>
  findings: Array<{ kind: string; what: string; detail: string | null }>
}

/** Until every record is `pinned`, and the place has been told of all there is to tell. */
export async function quiet(world: World): Promise<void> {
  let last = ''
  await until('everything is pinned and nothing waits', async () => {
    const uploads = await uploadsOf(world)
    const { json } = await world.owner.json<Waiting>('GET', '/admin/v1/stats')
    const waiting = json.clusters.reduce((sum, { pins, unpins }) => sum + pins + unpins, 0)
    const unpinned = uploads.filter(({ status }) => status !== 'pinned')
    last = `${waiting} wait, ${unpinned.map(({ cid, status }) => `${cid} ${status}`).slice(0, MOST_DIFFERENCES)}`
    return waiting === 0 && unpinned.length === 0
  }).catch((error: unknown) => {
    throw new Error(`it does not come to rest: ${last}`, { cause: error })
  })
}

async function uploadsOf(world: World): Promise<Upload[]> {
  const all: Upload[] = []
  for (const tenant of world.tenants) {
    const client = world.clientOf(tenant)
    for (let page = 1, total = 1; (page - 1) * 500 < total; page++) {
      const path = `/api/v3/users/me/uploads?limit=500&page=${page}`
      const { status, json } = await client.json<{ uploads: Upload[]; total: number }>('GET', path)
      assert.equal(status, 200)
      all.push(...json.uploads)
      total = json.total
    }
  }
  return all
}

/** Roots. */
interface Truth {
  /** Those that records need. */
  needed: Set<string>
  /** Those that are pinned for us, and of these those that as many have as are promised. */
  pinned: Set<string>
  kept: Set<string>
  /** Null while nothing is pinned for us. */
  mark: string | null
}

/** What the place itself says. */
export async function truth(world: World): Promise<Truth> {
  const pins = await world.place.pins()
  const ours = pins.filter(({ name }) => name.startsWith(MARK))
  const rootOf = ({ name }: PlacedPin): string => name.split(' ')[1] ?? ''
  const needed = new Set((await uploadsOf(world)).map(({ cid }) => cid))
  const pinned = new Set(ours.map(rootOf))
  assert.equal(pinned.size, ours.length, 'a root is pinned twice')
  const kept = new Set(ours.filter(({ isKept }) => isKept).map(rootOf))
  return { needed, pinned, kept, mark: ours[0]?.name.split(' ')[0] ?? null }
}

/** What is in the first and not in the second. */
export function without(all: ReadonlySet<string>, others: ReadonlySet<string>): string[] {
  return [...all].filter(cid => !others.has(cid))
}

/**
 * Looks, at a node that was started again, at what each account has; and whether the place agrees with it: exactly what is
 * needed is pinned there for us, others' pins are as they have made them, all of it reads back from there once what
 * nothing needs is gone, and a reconciliation finds nothing.
 */
export async function agreed(world: World): Promise<void> {
  await quiet(world)
  // Everything that was asked for is over.
  const at = now() + 2
  for (const tenant of world.tenants) {
    const listed = await inspectAccount(world.clientOf(tenant), tenant.log, at)
    tenant.log.settle(listed)
  }
  const { status, json } = await world.owner.json<{ damaged: unknown[] }>('POST', '/admin/v1/verify')
  assert.deepEqual([status, json.damaged], [200, []], 'blocks are damaged')
  // What has just expired is let go of a little later.
  await until('the place has what is needed, and no more', async () => {
    const { needed, pinned, kept } = await truth(world)
    return without(needed, kept).length + without(pinned, needed).length === 0
  }).catch(async (error: unknown) => {
    const { needed, pinned, kept } = await truth(world)
    const [missing, left] = [without(needed, kept), without(pinned, needed)].map(cids =>
      cids.slice(0, MOST_DIFFERENCES),
    )
    throw new Error(`not pinned there: ${missing}; pinned for nobody: ${left}`, { cause: error })
  })
  await othersAreLeft(world)
  await world.place.collect()
  await readBackThere(world)
  await nothingToDo(world)
}

async function nothingToDo(world: World): Promise<void> {
  await mendLeftovers(world)
  const { json } = await world.owner.json<Reconciled>('POST', '/admin/v1/reconcile', { dryRun: true })
  assert.deepEqual(json.found, {}, `records and what is kept do not fit together: ${JSON.stringify(json.findings)}`)
}

/** With a database of its own, what was begun and never ended is let go of by a reconciliation. */
async function mendLeftovers(world: World): Promise<void> {
  if (!world.isShared) return
  const { json } = await world.owner.json<Reconciled>('POST', '/admin/v1/reconcile', { force: true })
  const { 'hold-unwanted': _, 'root-unwanted': __, ...others } = json.found
  assert.deepEqual(others, {}, `records and what is kept do not fit together: ${JSON.stringify(json.findings)}`)
}

/** Pins of others that a place has lost by itself are nobody's fault here. */
export async function lookAtTheirs({ place, theirs, open }: World): Promise<void> {
  theirs.clear()
  open.clear()
  for (const { cid, name } of await place.pins()) if (!name.startsWith(MARK)) theirs.set(cid, name)
}

async function othersAreLeft({ place, theirs, open }: World): Promise<void> {
  const pins = (await place.pins()).filter(({ name }) => !name.startsWith(MARK))
  const found = new Map(pins.map(({ cid, name }) => [cid, name]))
  for (const cid of open) {
    // Nobody knows what has become of it; from now on everybody does.
    const name = found.get(cid)
    if (name === undefined) theirs.delete(cid)
    else theirs.set(cid, name)
  }
  open.clear()
  assert.deepEqual(sorted(found), sorted(theirs), 'pins of others are not as they have made them')
}

function sorted(pins: ReadonlyMap<string, string>): string[][] {
  return [...pins].sort(([a], [b]) => (a < b ? -1 : 1))
}

/** All of it is in the place itself, on as many copies as are promised. */
async function readBackThere(world: World): Promise<void> {
  const contents = new Map<string, Content>()
  for (const { log } of world.tenants) for (const content of log.contents) contents.set(content.cid, content)
  const listed = new Set((await uploadsOf(world)).map(({ cid }) => cid))
  for (const content of contents.values()) {
    if (content.expiresAt !== null || !listed.has(content.cid)) continue
    assert.ok(
      await isThere(world, content, world.place.copies),
      `${content.cid} does not read back from where it is kept`,
    )
  }
}

/** Whether so many have all of a content. */
async function isThere({ place }: World, { cid, hashes }: Content, copies: number): Promise<boolean> {
  for (const [path, hash] of Object.entries(hashes)) {
    const found = (await place.hashesOf(cid, path)).filter(read => read === hash).length
    if (found < copies) return false
  }
  return true
}

/** Whether anybody there has all of what some account has stored. */
export async function isWholeThere(world: World, cid: string): Promise<boolean> {
  const content = world.tenants.map(({ log }) => log.find(cid)).find(known => known !== undefined)
  return content !== undefined && isThere(world, content, 1)
}

/**
 * Has a reconciliation find what is not as it should be, all of it and nothing else, and mend it. What nobody needs is let
 * go of only by force where it is much.
 */
export async function reconciled(world: World): Promise<Record<string, number>> {
  const { needed, pinned, kept } = await truth(world)
  const [missing, unwanted] = [without(needed, kept).length, without(pinned, needed).length]
  const look = await world.owner.json<Reconciled>('POST', '/admin/v1/reconcile', { dryRun: true })
  assert.equal(look.status, 200)
  const found = look.json.found
  const counts = [found['pin-missing'] ?? 0, found['pin-unwanted'] ?? 0]
  assert.deepEqual(counts, [missing, unwanted], `missing and unwanted: ${JSON.stringify(look.json.findings)}`)
  if (unwanted > 0.01 * pinned.size) {
    const asked = await world.owner.json('POST', '/admin/v1/reconcile', {})
    assert.equal(asked.status, 409, 'much was let go of without being asked about')
  }
  const mended = await world.owner.json<Reconciled>('POST', '/admin/v1/reconcile', { force: true })
  assert.equal(mended.status, 200)
  world.tell(`  found ${JSON.stringify(found)}`)
  return found
}
