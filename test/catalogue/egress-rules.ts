import assert from 'node:assert/strict'
import { MOST_PAYERS, PAYING_ROOTS } from '../../src/catalogue/index.ts'
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
    name: 'adds traffic to the account that pays, unless it is gone',
    async run({ egress }) {
      const sent = { domain: 'a.example', bytes: 7 }
      const own = { ...sent, accountId: 'two' }
      assert.deepEqual(await egress.add([own, { ...sent, accountId: 'gone' }], AT), [own])
      assert.deepEqual(await egress.read([...both, 'gone'], AT.month), [own])
    },
  },
  {
    name: "finds the accounts that may pay for a root, oldest first, with the month's bytes of all their domains",
    async run(catalogue) {
      const { egress, holdOf } = catalogue
      await commit(catalogue, [record('oldest', { createdAt: 1, accountId: 'two', expiresAt: NOW + 5 })])
      await commit(catalogue, [record('newest', { createdAt: 2 })])
      const holdId = await holdOf('newest')
      const payersAt = async (at = AT) => (await egress.payersOf([holdId], at)).map(payer => payer.accountId)
      for (const domain of ['a.example', 'b.example']) await egress.add([{ holdId, domain, bytes: 2 ** 40 }], AT)
      await egress.add([{ holdId, domain: 'a.example', bytes: 3 }], { ...AT, month: 202610 })
      const plans = await Promise.all(both.map(async id => (await catalogue.accounts.get(id))?.plan))
      assert.deepEqual(await egress.payersOf([holdId], AT), [
        { accountId: 'two', plan: plans[0], bytes: 2 ** 41 },
        { accountId: 'one', plan: plans[1], bytes: 0 },
      ])
      assert.deepEqual(await payersAt({ ...AT, now: NOW + 5 }), ['one'])
      assert.deepEqual(await egress.payersOf(['nothing'], AT), [])
    },
  },
  {
    name: 'finds an account behind many older records of another',
    async run(catalogue) {
      const { egress, holdOf } = catalogue
      const older = Array.from({ length: 80 }, (_, i) => record(`r${i}`, { createdAt: 1 + i }))
      for (const one of older) await commit(catalogue, [one])
      await commit(catalogue, [record('newest', { accountId: 'two', expiresAt: NOW + 5 })])
      const payers = await egress.payersOf([await holdOf('newest')], AT)
      assert.deepEqual(
        payers.map(({ accountId }) => accountId),
        ['one', 'two'],
      )
    },
  },
  {
    name: 'compares the accounts of several roots by their oldest record, each account once',
    async run(catalogue) {
      const { egress, holdOf } = catalogue
      await commit(catalogue, [record('a', { createdAt: 3 })])
      await commit(catalogue, [record('b', { createdAt: 2, accountId: 'two', dag: dagOf('b') })])
      await commit(catalogue, [record('c', { createdAt: 1, dag: dagOf('c') })])
      const payersOf = async (names: string[]) => {
        const payers = await egress.payersOf(await Promise.all(names.map(holdOf)), AT)
        return payers.map(({ accountId }) => accountId)
      }
      assert.deepEqual(await payersOf(['a', 'b']), ['two', 'one'])
      assert.deepEqual(await payersOf(['a', 'b', 'c']), ['one', 'two'])
      const nothing = Array.from({ length: PAYING_ROOTS }, () => 'a')
      assert.deepEqual(await payersOf([...nothing, 'b']), ['one'])
    },
  },
  {
    name: 'finds a limited number of accounts, the oldest ones',
    async run(catalogue) {
      const { accounts, egress, holdOf } = catalogue
      const one = await accounts.get('one')
      assert.ok(one !== null)
      const names = Array.from({ length: MOST_PAYERS + 3 }, (_, i) => `p${String(i).padStart(3, '0')}`)
      for (const [i, id] of names.entries()) {
        await accounts.insert({ ...one, id, email: `${id}@example.org`, role: 'user' }, null)
        await commit(catalogue, [record(`of ${id}`, { accountId: id, createdAt: 500 - i })])
      }
      const payers = await egress.payersOf([await holdOf('of p000')], AT)
      assert.deepEqual(
        payers.map(({ accountId }) => accountId),
        names.toReversed().slice(0, MOST_PAYERS),
      )
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
    [/^counts traffic/, /^adds traffic/],
  ],
  [
    'finds the traffic of another month',
    ({ egress }) => ({ egress: { ...egress, payersOf: (ids, at) => egress.payersOf(ids, { ...at, month: 202610 }) } }),
    [/^finds the accounts/],
  ],
  [
    'finds only the oldest account',
    ({ egress }) => ({
      egress: { ...egress, payersOf: async (ids, at) => (await egress.payersOf(ids, at)).slice(0, 1) },
    }),
    [/^finds the accounts/, /^finds an account behind/, /^finds a limited number/],
  ],
  [
    'compares the accounts of one root only',
    ({ egress }) => ({ egress: { ...egress, payersOf: (ids, at) => egress.payersOf(ids.slice(0, 1), at) } }),
    [/^compares the accounts/],
  ],
]
