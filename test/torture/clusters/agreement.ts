import assert from 'node:assert/strict'
import { type Content, now } from '../account-log.ts'
import { inspectAccount } from '../inspection.ts'
import type { PlacedPin } from './place.ts'
import { until } from './until.ts'
import type { World } from './world.ts'

/** Prefix of the names of our pins. */
const MARK = 'holdfast:'
/** Entries that an error message lists at most. */
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

/** Waits until every record is `pinned` and no placement is pending. */
export async function untilQuiet(world: World): Promise<void> {
  let last = ''
  await until('everything is pinned and nothing waits', async () => {
    const uploads = await uploadsOf(world)
    const { json } = await world.owner.json<Waiting>('GET', '/admin/v1/stats')
    const waiting = json.clusters.reduce((sum, { pins, unpins }) => sum + pins + unpins, 0)
    const unpinned = uploads.filter(({ status }) => status !== 'pinned')
    last = `${waiting} wait, ${unpinned.map(({ cid, status }) => `${cid} ${status}`).slice(0, MOST_DIFFERENCES)}`
    return waiting === 0 && unpinned.length === 0
  }).catch((error: unknown) => {
    throw new Error(`work stays pending: ${last}`, { cause: error })
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

/** Sets of roots, as CIDs. */
interface PinState {
  /** Roots that records need. */
  needed: Set<string>
  /** `pinned` are the roots pinned for us; `kept` are those with the required number of copies. */
  pinned: Set<string>
  kept: Set<string>
  /** Prefix that names the node in its pins; null while it has none. */
  mark: string | null
}

/** Returns what the node's records need and what the backend reports. */
export async function pinState(world: World): Promise<PinState> {
  const pins = await world.place.pins()
  const ours = pins.filter(({ name }) => name.startsWith(MARK))
  const rootOf = ({ name }: PlacedPin): string => name.split(' ')[1] ?? ''
  const needed = new Set((await uploadsOf(world)).map(({ cid }) => cid))
  const pinned = new Set(ours.map(rootOf))
  assert.equal(pinned.size, ours.length, 'a root is pinned twice')
  const kept = new Set(ours.filter(({ isKept }) => isKept).map(rootOf))
  return { needed, pinned, kept, mark: ours[0]?.name.split(' ')[0] ?? null }
}

/** Returns the members of the first set that the second lacks. */
export function without(all: ReadonlySet<string>, others: ReadonlySet<string>): string[] {
  return [...all].filter(cid => !others.has(cid))
}

/**
 * Checks a restarted node: all accounts list what they stored, exactly the needed roots are pinned for us, and pins of
 * others are unchanged. All content reads back after a collection, and a reconciliation finds nothing.
 */
export async function checkAgreement(world: World): Promise<void> {
  await untilQuiet(world)
  // All requests so far have ended.
  const at = now() + 2
  for (const tenant of world.tenants) {
    const listed = await inspectAccount(world.clientOf(tenant), tenant.log, at)
    tenant.log.settle(listed)
  }
  const { status, json } = await world.owner.json<{ damaged: unknown[] }>('POST', '/admin/v1/verify')
  assert.deepEqual([status, json.damaged], [200, []], 'blocks are damaged')
  // Expired content is unpinned a little later.
  await until('the backend has what is needed, and no more', async () => {
    const { needed, pinned, kept } = await pinState(world)
    return without(needed, kept).length + without(pinned, needed).length === 0
  }).catch(async (error: unknown) => {
    const { needed, pinned, kept } = await pinState(world)
    const [missing, left] = [without(needed, kept), without(pinned, needed)].map(cids =>
      cids.slice(0, MOST_DIFFERENCES),
    )
    throw new Error(`needed and not pinned: ${missing}; pinned and not needed: ${left}`, { cause: error })
  })
  await checkForeignPins(world)
  await world.place.collect()
  await checkCopies(world)
  await checkReconciliation(world)
}

async function checkReconciliation(world: World): Promise<void> {
  await removeAbandonedUploads(world)
  const { json } = await world.owner.json<Reconciled>('POST', '/admin/v1/reconcile', { dryRun: true })
  assert.deepEqual(json.found, {}, `records and pins do not agree: ${JSON.stringify(json.findings)}`)
}

/** With a shared catalogue, a killed node leaves interrupted uploads behind. Reconciliation removes them. */
async function removeAbandonedUploads(world: World): Promise<void> {
  if (!world.isShared) return
  const { json } = await world.owner.json<Reconciled>('POST', '/admin/v1/reconcile', { force: true })
  const { 'hold-unwanted': _, 'root-unwanted': __, ...others } = json.found
  assert.deepEqual(others, {}, `records and pins do not agree: ${JSON.stringify(json.findings)}`)
}

/** Accepts the pins of others as they are now, because the backend itself may have lost some. */
export async function acceptForeignPins({ place, theirs, open }: World): Promise<void> {
  theirs.clear()
  open.clear()
  for (const { cid, name } of await place.pins()) if (!name.startsWith(MARK)) theirs.set(cid, name)
}

async function checkForeignPins({ place, theirs, open }: World): Promise<void> {
  const pins = (await place.pins()).filter(({ name }) => !name.startsWith(MARK))
  const found = new Map(pins.map(({ cid, name }) => [cid, name]))
  for (const cid of open) {
    // The outcome of this request by hand was unknown; the backend's list now decides it.
    const name = found.get(cid)
    if (name === undefined) theirs.delete(cid)
    else theirs.set(cid, name)
  }
  open.clear()
  assert.deepEqual(sorted(found), sorted(theirs), 'the pins of others have changed')
}

function sorted(pins: ReadonlyMap<string, string>): string[][] {
  return [...pins].sort(([a], [b]) => (a < b ? -1 : 1))
}

/** Checks that each content reads back from the backend, from the required number of copies. */
async function checkCopies(world: World): Promise<void> {
  const contents = new Map<string, Content>()
  for (const { log } of world.tenants) for (const content of log.contents) contents.set(content.cid, content)
  const listed = new Set((await uploadsOf(world)).map(({ cid }) => cid))
  for (const content of contents.values()) {
    if (content.expiresAt !== null || !listed.has(content.cid)) continue
    assert.ok(await hasCopies(world, content, world.place.copies), `${content.cid} does not read back from its place`)
  }
}

/** Returns true if at least `copies` members of the backend have all of a content. */
async function hasCopies({ place }: World, { cid, hashes }: Content, copies: number): Promise<boolean> {
  for (const [path, hash] of Object.entries(hashes)) {
    const found = (await place.hashesOf(cid, path)).filter(read => read === hash).length
    if (found < copies) return false
  }
  return true
}

/** Returns true if some member of the backend has all of a content that an account has stored. */
export async function hasCopy(world: World, cid: string): Promise<boolean> {
  const content = world.tenants.map(({ log }) => log.find(cid)).find(known => known !== undefined)
  return content !== undefined && hasCopies(world, content, 1)
}

/**
 * Runs a reconciliation, which must find exactly the actual differences, and then repairs them. It must refuse to unpin
 * more than one in a hundred without force.
 */
export async function reconcile(world: World): Promise<Record<string, number>> {
  const { needed, pinned, kept } = await pinState(world)
  const [missing, unwanted] = [without(needed, kept).length, without(pinned, needed).length]
  const look = await world.owner.json<Reconciled>('POST', '/admin/v1/reconcile', { dryRun: true })
  assert.equal(look.status, 200)
  const found = look.json.found
  const counts = [found['pin-missing'] ?? 0, found['pin-unwanted'] ?? 0]
  assert.deepEqual(counts, [missing, unwanted], `missing and unwanted: ${JSON.stringify(look.json.findings)}`)
  if (unwanted > 0.01 * pinned.size) {
    const asked = await world.owner.json('POST', '/admin/v1/reconcile', {})
    assert.equal(asked.status, 409, 'many pins were removed without force')
  }
  const mended = await world.owner.json<Reconciled>('POST', '/admin/v1/reconcile', { force: true })
  assert.equal(mended.status, 200)
  world.report(`  found ${JSON.stringify(found)}`)
  return found
}
