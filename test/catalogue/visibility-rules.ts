import assert from 'node:assert/strict'
import { type ContentRule, commit, DAG, everywhere, ids, isCode, NOW, record, request } from './content-support.ts'
import type { Broken } from './content-wrong.ts'
import type { ContentCatalogue } from './memory-catalogue.ts'

const OWN = 77
const closed = { owner: OWN }

/** Tests of private records that every catalogue must pass. */
export const visibilityRules: readonly ContentRule[] = [
  {
    name: 'compares the owners of records, which decide about a repeat',
    async run(catalogue) {
      await commit(catalogue, [record('r1', { name: 'same' })])
      const created = async (id: string, more = {}) =>
        (await commit(catalogue, [record(id, { name: 'same', ...more })]))[0]?.created
      assert.equal(await created('r2', closed), true)
      assert.deepEqual([await created('r3', closed), await created('r4')], [false, false])
      assert.equal((await catalogue.records.get('r2'))?.owner, OWN)
    },
  },
  {
    name: 'keeps a public and a private record of the same content on two roots',
    async run(catalogue) {
      const { records } = catalogue
      await commit(catalogue, [record('open'), record('closed', closed)])
      const [open, own] = [await rootOf(catalogue, 'open'), await rootOf(catalogue, 'closed')]
      assert.notEqual(open, own)
      await commit(catalogue, [record('open2'), record('closed2', closed)])
      assert.deepEqual([await rootOf(catalogue, 'open2'), await rootOf(catalogue, 'closed2')], [open, own])
      assert.equal((await records.usage('one', NOW)).storedBytes, 512)
      for (const id of ['open', 'open2']) await records.discard(id)
      assert.equal((await records.usage('one', NOW)).storedBytes, 512)
      // The end of the last public record takes nothing from the private ones.
      assert.equal((await commit(catalogue, [record('closed3', closed)], { isAnew: true }))[0]?.record.rootId, own)
    },
  },
  {
    name: 'gives records another owner, each on a root of its own',
    async run(catalogue) {
      const { records } = catalogue
      await commit(catalogue, [record('r1'), record('r2'), record('theirs', { accountId: 'two' })])
      const open = await rootOf(catalogue, 'r1')
      const changed = await setOwner(catalogue, 'r1', OWN)
      assert.deepEqual([changed?.owner, changed?.status], [OWN, 'pinned'])
      const own = await rootOf(catalogue, 'r1')
      assert.notEqual(own, open)
      assert.deepEqual([await rootOf(catalogue, 'r2'), await rootOf(catalogue, 'theirs')], [open, open])
      assert.deepEqual([await ownerOf(catalogue, 'r2'), await ownerOf(catalogue, 'theirs')], [0, 0])
      await setOwner(catalogue, 'r2', OWN)
      assert.equal(await rootOf(catalogue, 'r2'), own)
      assert.equal((await setOwner(catalogue, 'r2', OWN))?.owner, OWN)
      await setOwner(catalogue, 'r2', 0)
      assert.deepEqual([await rootOf(catalogue, 'r2'), await ownerOf(catalogue, 'r2')], [open, 0])
      const { pins, storedBytes } = await records.usage('one', NOW)
      assert.deepEqual([pins, storedBytes], [2, 512])
    },
  },
  {
    name: 'makes the only record of content private and public again',
    async run(catalogue) {
      const { records } = catalogue
      await commit(catalogue, [record('r1', { expiresAt: NOW + 50, name: 'alone' })])
      await setOwner(catalogue, 'r1', OWN)
      const repeat = { expiresAt: NOW + 50, name: 'alone' }
      const [again] = await commit(catalogue, [record('r2', { ...repeat, ...closed })])
      assert.deepEqual([again?.created, again?.record.id], [false, 'r1'])
      await setOwner(catalogue, 'r1', 0)
      const [public_] = await commit(catalogue, [record('r3', repeat)])
      assert.deepEqual([public_?.created, public_?.record.id], [false, 'r1'])
      assert.deepEqual(ids(await records.expire(NOW + 50, 10)), ['r1'])
      assert.deepEqual(await records.ofDag({ ...everywhere, accountId: 'one', dag: DAG }), [])
    },
  },
  {
    name: 'gives no owner to records of others, that have ended, or that wait',
    async run(catalogue) {
      const { records } = catalogue
      await commit(catalogue, [record('r1', { expiresAt: NOW + 5 })])
      assert.equal(await setOwner(catalogue, 'none', OWN), null)
      assert.equal(await records.setOwner({ accountId: 'two', id: 'r1', owner: OWN, now: NOW }), null)
      assert.equal(await records.setOwner({ accountId: 'one', id: 'r1', owner: OWN, now: NOW + 5 }), null)
      assert.equal(await ownerOf(catalogue, 'r1'), 0)
      await request(catalogue, record('waits', { cid: 'waits', name: 'waits', dag: { ...DAG, codec: 0x70 } }))
      await assert.rejects(setOwner(catalogue, 'waits', OWN), isCode('CONFLICT'))
    },
  },
]

/** Catalogues that keep private records wrongly. */
export const wrongVisibility: ReadonlyArray<[what: string, broken: Broken, rules: RegExp[]]> = [
  [
    'finds private records among public ones',
    ({ records }) => ({
      records: {
        ...records,
        page: (filter, offset, limit) => {
          const { search } = filter
          const any = search === undefined ? undefined : { ...search, visibility: null }
          return records.page({ ...filter, search: any }, offset, limit)
        },
      },
    }),
    [/^finds public and private/],
  ],
  [
    'ignores the owner of a new record',
    ({ records }) => ({
      records: {
        ...records,
        commit: intents => records.commit(intents.map(one => ({ ...one, record: { ...one.record, owner: 0 } }))),
      },
    }),
    [/^compares the owners/, /^makes the only record/],
  ],
  [
    'commits private content to the public root',
    ({ records }) => ({
      records: {
        ...records,
        commit: intents =>
          records.commit(intents.map(one => (one.kind === 'whole' ? { ...one, dag: { ...one.dag, owner: 0 } } : one))),
      },
    }),
    [/^keeps a public and a private/],
  ],
  [
    'gives an owner to the record, but not to its content',
    ({ records }) => {
      const first = new Map<string, number | null>()
      const get: typeof records.get = async id => {
        const row = await records.get(id)
        if (row === undefined) return row
        if (!first.has(id)) first.set(id, row.rootId)
        return { ...row, rootId: first.get(id) ?? null }
      }
      return { records: { ...records, get } }
    },
    [/^gives records another owner/],
  ],
  [
    'gives owners to everybody',
    ({ records }) => ({
      records: { ...records, setOwner: request => records.setOwner({ ...request, accountId: 'one', now: NOW }) },
    }),
    [/^gives no owner/],
  ],
]

function setOwner({ records }: ContentCatalogue, id: string, owner: number) {
  return records.setOwner({ accountId: 'one', id, owner, now: NOW })
}

async function ownerOf({ records }: ContentCatalogue, id: string): Promise<number | undefined> {
  return (await records.get(id))?.owner
}

async function rootOf({ records }: ContentCatalogue, id: string): Promise<number | null | undefined> {
  return (await records.get(id))?.rootId
}
