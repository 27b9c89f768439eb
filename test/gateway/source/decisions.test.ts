import type { CID } from 'multiformats/cid'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { withDefaults } from '../../../src/config/config.ts'
import { RevisionLog } from '../../../src/content/revision-log.ts'
import { openerOf } from '../../../src/gateway/gateway.ts'
import { Denylist } from '../../../src/gateway/policy/denylist.ts'
import type { ContentOrigin } from '../../../src/gateway/source/request-blocks.ts'
import { parseCid } from '../../../src/ipld/cid.ts'
import { GatewayWorld } from '../world.ts'

let world: GatewayWorld

beforeEach(async () => {
  world = await GatewayWorld.open()
})

afterEach(() => world.close())

function opened(more: { others?: ContentOrigin } = {}) {
  const { gateway } = withDefaults({ gateway: {} })
  const log = new RevisionLog(world.clock, null)
  const takedowns = { denylist: new Denylist('') }
  const { content, clock, logger } = world
  const opener = openerOf({ content, clock, logger, options: gateway, takedowns, revision: log, ...more })
  const asked = { header: () => undefined, signal: new AbortController().signal }
  const open = (cid: CID) => opener.open(asked, { cid, root: String(cid), names: [] })
  return { opener, open, log, takedowns }
}

test('ten thousand open responses are decided in turns of the event loop', async () => {
  const [bad, good] = [await world.addFile('bad'), await world.addFile('good')]
  const { opener, open, log, takedowns } = opened()
  const all = []
  for (let count = 0; count < 5_000; count++) all.push(await open(bad), await open(good))
  const refused = new Set<number>()
  for (const [index, blocks] of all.entries()) blocks.watch(() => refused.add(index))
  takedowns.denylist.append(`/ipfs/${bad}\n`)
  log.publish()
  let turns = 0
  let isDeciding = true
  const count = (): void => {
    turns++
    if (isDeciding) setImmediate(count)
  }
  setImmediate(count)
  await opener.decide()
  isDeciding = false
  expect(turns).toBeGreaterThan(3)
  expect(refused).toEqual(new Set(Array.from({ length: 5_000 }, (_, index) => 2 * index)))
  for (const blocks of all) blocks.release()
})

test('a response ends if another node does not answer', async () => {
  const cid = parseCid('bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy')
  let isAway = false
  const held = { isLocal: false, liveUntil: null, get: () => Promise.reject(), sizeOf: () => null, release: () => {} }
  const others: ContentOrigin = {
    isForRecords: true,
    open: () => (isAway ? new Promise(() => undefined) : held),
  }
  const { opener, open, log } = opened({ others })
  const blocks = await open(cid)
  const refusals: unknown[] = []
  blocks.watch(reason => refusals.push(reason))
  isAway = true
  log.publish()
  const decided = opener.decide()
  await expect
    .poll(() => {
      world.clock.advance(500)
      return refusals
    })
    .toMatchObject([{ code: 'UNAVAILABLE' }])
  await decided
  blocks.release()
})
