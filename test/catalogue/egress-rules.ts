import assert from 'node:assert/strict'
import { OWNERS_COMPARED } from '../../src/catalogue/index.ts'
import { type ContentRule, commit, dagOf, NOW, record } from './content-support.ts'
import type { Broken } from './content-wrong.ts'

const AT = { now: NOW, month: 202611 }
const both = ['two', 'one']

/** Tests of stored gateway traffic that every catalogue must pass. */
export const egressRules: readonly ContentRule[] = [
  {
    name: 'counts traffic for the account of the oldest live record',
    async run(catalogue) {
      const { egress, holdOf } = catalogue
      await commit(catalogue, [record('expired', { createdAt: 1, expiresAt: NOW })])
      await commit(catalogue, [record('oldest', { createdAt: 2, accountId: 'two', expiresAt: NOW + 5 })])
      await commit(catalogue, [record('newest', { createdAt: 3 })])
      const sent = { holdId: await holdOf('newest'), domain: 'a.example', bytes: 7 }
      const all = { accountId: 'two', domain: 'a.example', bytes: 10 }
      assert.deepEqual(await egress.add([sent, { ...sent, bytes: 3 }, { ...sent, holdId: 'nothing' }], AT), [all])
      assert.deepEqual(await egress.read(both, AT.month), [all])
      const late = { ...AT, now: NOW + 5 }
      assert.deepEqual(await egress.add([sent], late), [{ ...all, accountId: 'one', bytes: 7 }])
      assert.deepEqual(await egress.read(['one'], AT.month), [{ accountId: 'one', domain: 'a.example', bytes: 7 }])
    },
  },
  {
    name: 'compares only the records of a root that expire last',
    async run(catalogue) {
      const { egress, holdOf } = catalogue
      await commit(catalogue, [record('oldest', { createdAt: 1, accountId: 'two', expiresAt: NOW + 5 })])
      const lasting = Array.from({ length: OWNERS_COMPARED }, (_, i) => record(`r${i}`, { createdAt: 2 + i }))
      for (const one of lasting) await commit(catalogue, [one])
      await egress.add([{ holdId: await holdOf('r0'), domain: 'other', bytes: 1 }], AT)
      assert.deepEqual(await egress.read(both, AT.month), [{ accountId: 'one', domain: 'other', bytes: 1 }])
    },
  },
  {
    name: 'adds traffic by account, month and domain, and forgets it after a year',
    async run(catalogue) {
      const { egress, holdOf } = catalogue
      await commit(catalogue, [record('mine'), record('theirs', { accountId: 'two', dag: dagOf('b') })])
      const [mine, theirs] = [await holdOf('mine'), await holdOf('theirs')]
      const [a, b] = ['a.example', 'b.example']
      for (const month of [202511, 202512, 202611]) {
        await egress.add([{ holdId: mine, domain: b, bytes: 1 }], { ...AT, month })
        await egress.add([{ holdId: mine, domain: b, bytes: 2 ** 40 }], { ...AT, month })
      }
      const late = { holdId: theirs, domain: a, bytes: 5 }
      await egress.add([late, { holdId: mine, domain: a, bytes: 2 }], AT)
      const own = { accountId: 'one', domain: b, bytes: 2 ** 40 + 1 }
      assert.deepEqual(await egress.read(both, 202611), [
        { accountId: 'one', domain: a, bytes: 2 },
        own,
        { accountId: 'two', domain: a, bytes: 5 },
      ])
      assert.deepEqual([await egress.read(both, 202512), await egress.read(both, 202511)], [[own], []])
      assert.deepEqual(await egress.read([], 202611), [])
    },
  },
  {
    name: "finds the account that a root counts for, with the month's bytes of all its domains",
    async run(catalogue) {
      const { egress, holdOf } = catalogue
      await commit(catalogue, [record('oldest', { createdAt: 1, accountId: 'two', expiresAt: NOW + 5 })])
      await commit(catalogue, [record('newest', { createdAt: 2 })])
      const holdId = await holdOf('newest')
      assert.equal((await egress.ownerOf(holdId, AT))?.bytes, 0)
      for (const domain of ['a.example', 'b.example']) await egress.add([{ holdId, domain, bytes: 2 ** 40 }], AT)
      await egress.add([{ holdId, domain: 'a.example', bytes: 3 }], { ...AT, month: 202610 })
      const plan = (await catalogue.accounts.get('two'))?.plan
      assert.deepEqual(await egress.ownerOf(holdId, AT), { accountId: 'two', plan, bytes: 2 ** 41 })
      assert.equal((await egress.ownerOf(holdId, { ...AT, now: NOW + 5 }))?.accountId, 'one')
      assert.equal(await egress.ownerOf('nothing', AT), null)
    },
  },
]

/** Stores of traffic with one fault each, and the rules that must detect it. */
export const wrongEgress: ReadonlyArray<[what: string, broken: Broken, rules: RegExp[]]> = [
  [
    'counts traffic for an expired record',
    ({ egress }) => ({ egress: { ...egress, add: (sent, at) => egress.add(sent, { ...at, now: 0 }) } }),
    [/^counts traffic/],
  ],
  [
    'counts no traffic',
    ({ egress }) => ({ egress: { ...egress, add: async () => [] } }),
    [/^compares only/, /^adds traffic/],
  ],
  [
    'finds the traffic of another month',
    ({ egress }) => ({ egress: { ...egress, ownerOf: (id, at) => egress.ownerOf(id, { ...at, month: 202610 }) } }),
    [/^finds the account/],
  ],
]
