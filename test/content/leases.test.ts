import { afterEach, beforeEach, expect, test } from 'vitest'
import { SharedLeases } from '../../src/content/leases.ts'
import { LiveContent } from '../../src/content/live-content.ts'
import { BlockTable } from '../../src/ledger/block-table.ts'
import { HeldRoots } from '../../src/ledger/held-roots.ts'
import { RootTable } from '../../src/ledger/root-table.ts'
import { Database } from '../../src/storage/database.ts'
import { GatewayWorld } from '../gateway/world.ts'

let world: GatewayWorld
let reading: Database
let writing: Database

beforeEach(async () => {
  world = await GatewayWorld.open()
  reading = new Database(world.database, { readonly: true })
  writing = new Database(world.database)
})

afterEach(async () => {
  reading.close()
  writing.close()
  await world.close()
})

/** Reads content as another thread does. `crossing` runs between its check and its lease. */
function contentOf(crossing: (rootId: number) => void): LiveContent {
  const leases = new SharedLeases(world.leases.share().memory)
  const hold = leases.hold.bind(leases)
  leases.hold = rootId => {
    crossing(rootId)
    return hold(rootId)
  }
  const places = new HeldRoots(new RootTable(reading), new BlockTable(reading))
  return new LiveContent(places, { readerOf: () => world }, leases, world.clock)
}

test('the collector sees a lease of another thread until its release', async () => {
  const cid = await world.addFile('leased')
  const leased = contentOf(() => undefined).lease(cid)
  expect(world.leases.held().size).toBe(1)
  leased?.release()
  leased?.release()
  expect([leased === null, world.leases.held().size]).toEqual([false, 0])
})

test('a root dropped just before its lease is not read', async () => {
  const cid = await world.addFile('dropped')
  const content = contentOf(rootId => new RootTable(writing).drop(rootId))
  expect(content.lease(cid)).toBe(null)
  expect(world.leases.held().size).toBe(0)
})

test('another root with the same content is read instead', async () => {
  await world.addDirectory({ a: 'shared', b: 'first' })
  await world.addDirectory({ a: 'shared', c: 'second' })
  const cid = await world.addFile('shared')
  let crossed = 0
  const content = contentOf(rootId => {
    if (crossed++ === 0) new RootTable(writing).drop(rootId)
  })
  const leased = content.lease(cid)
  expect([leased === null, crossed, world.leases.held().size]).toEqual([false, 2, 1])
  leased?.release()
})
