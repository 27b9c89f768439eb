import { describe, expect, test } from 'vitest'
import { powerCutRisk } from '../../../adapters/kubo/datastore-sync.ts'

const flatfs = (sync: unknown) => ({ type: 'flatfs', path: 'blocks', sync })
const levelds = { type: 'levelds', path: 'datastore' }
const pebbleds = { type: 'pebbleds', path: 'pebbleds' }
const badgerds = { type: 'badgerds', path: 'badgerds', syncWrites: false }
const measured = (child: object) => ({ type: 'measure', prefix: 'x', child })
const mounted = (blocks: object, rest: object) => ({
  type: 'mount',
  mounts: [
    { mountpoint: '/', ...rest },
    { mountpoint: '/blocks', ...blocks },
  ],
})

describe('the datastore of a Kubo', () => {
  test.each([
    ['files that are synced, and LevelDB', mounted(flatfs(true), levelds)],
    ['the same, measured', mounted(measured(flatfs(true)), measured(levelds))],
    ['files that are synced, and Pebble, which is asked to sync pins', mounted(flatfs(true), pebbleds)],
    ['all in Pebble: pins are synced after blocks, in the same log', pebbleds],
    ['all in Pebble, measured', measured(pebbleds)],
    ['all in Badger', badgerds],
    ['all in LevelDB', levelds],
    ['blocks in Badger that syncs by itself', mounted({ ...badgerds, syncWrites: true }, levelds)],
    ['mounts in mounts', mounted(flatfs(true), { type: 'mount', mounts: [{ mountpoint: '/', ...levelds }] })],
  ])('loses nothing: %s', (_, spec) => {
    expect(powerCutRisk(spec)).toBeNull()
  })

  test.each([
    ['as it is by default', mounted(flatfs(false), levelds), 'blocks in flatfs with "sync": false'],
    ['the same, measured', mounted(measured(flatfs(false)), levelds), 'blocks in flatfs with "sync": false'],
    ['sync that is no boolean', mounted(flatfs('true'), levelds), 'blocks in flatfs with "sync": false'],
    ['blocks in a Pebble that nobody asks to sync', mounted(pebbleds, levelds), 'blocks in pebbleds'],
    ['blocks in a Badger that nobody asks to sync', mounted(badgerds, levelds), 'blocks in badgerds'],
    ['two Pebbles', mounted(pebbleds, pebbleds), 'blocks in pebbleds'],
    ['Pebble without a log', { ...pebbleds, disableWAL: true }, 'blocks in pebbleds'],
    ['pins in Pebble without a log', mounted(flatfs(true), { ...pebbleds, disableWAL: true }), 'pins in pebbleds'],
    ['a store of a plugin', mounted({ type: 's3ds' }, levelds), 'blocks in an unknown datastore'],
    ['a name that is none', mounted({ type: 'x\n<y>' }, levelds), 'blocks in an unknown datastore'],
    ['nothing at all', null, 'blocks in an unknown datastore'],
    ['mounts that are none', { type: 'mount', mounts: 5 }, 'blocks in an unknown datastore'],
    [
      'a mount beside it',
      { type: 'mount', mounts: [{ mountpoint: '/block', ...levelds }] },
      'blocks in an unknown datastore',
    ],
    ['measures without an end', Array.from({ length: 20 }).reduce(measured, levelds), 'blocks in an unknown datastore'],
  ])('loses something: %s', (_, spec, lost) => {
    expect(powerCutRisk(spec)).toContain(`it keeps ${lost}`)
  })
})
