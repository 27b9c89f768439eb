import { expect, test } from 'vitest'
import { Collector } from '../../../src/content/collector.ts'
import { Leases } from '../../../src/content/leases.ts'
import { silentLogger } from '../../../src/domain/logger.ts'
import { BlockTable } from '../../../src/ledger/block-table.ts'
import { Claims } from '../../../src/ledger/claims.ts'
import { Holds } from '../../../src/ledger/holds.ts'
import { Ledger } from '../../../src/ledger/ledger.ts'
import { DiskRoom } from '../../../src/pins/removal/disk-room.ts'
import { ACCOUNT, commit, dagOf, recordOf, withCatalogue } from '../../catalogue/sqlite-world.ts'
import { ManualClock } from '../../support/manual-clock.ts'

test('a full disk ends no undo period while deletion is stopped', async () => {
  await withCatalogue(async world => {
    const content = world.open()
    const { db, queue, roots } = world
    const blocks = new BlockTable(db)
    const claims = new Claims(db, blocks, queue)
    const ledger = new Ledger({ claims, blocks, roots, holds: new Holds(db, roots), queue })
    const clock = new ManualClock(1)
    const collector = new Collector({
      ...{ ledger, stores: new Map(), leases: new Leases(), clock, logger: silentLogger },
      ...{ graceMs: 0, intervalMs: 1, giveBackPages: async () => 0 },
    })
    const record = recordOf(dagOf('a'))
    await commit(world, content, [record])
    const change = { name: 'job', accountId: ACCOUNT, action: 'delete', selection: '', total: 1 } as const
    const { id } = await content.bulk.add({ ...change, undoMs: 100, createdAt: 0 })
    await content.bulk.remove({ id, place: '', next: null, ids: [record.id], now: 0, isListed: true })
    let isSetBack = false
    const ended: number[] = []
    const room = new DiskRoom({
      ...{ bulk: content.bulk, collector, backends: [0], clock },
      isSetBack: async () => isSetBack,
      ended: one => void ended.push(one.id),
    })
    const resume = await collector.hold()
    await room.make(async () => false)
    resume()
    isSetBack = true
    await room.make(async () => false)
    expect(ended).toEqual([])
    isSetBack = false
    await room.make(async () => false)
    expect(ended).toEqual([id])
    expect(await content.bulk.removed(id, '', 1)).toEqual([])
  })
})
