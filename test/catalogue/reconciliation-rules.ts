import assert from 'node:assert/strict'
import type { RecordRow } from '../../src/catalogue/index.ts'
import { type ContentRule, commit, DAG, dagOf, deliver, NOW, record, request, SIZES } from './content-support.ts'
import type { ContentCatalogue } from './memory-catalogue.ts'
import { whole } from './whole-reconciliation.ts'

const HOMES: ReadonlyMap<string, number> = new Map([['near', 0]])
const step = { after: '', limit: 100, homes: HOMES, now: NOW }
const LOOK = { after: '', limit: 100, mend: false }
const MEND = { ...LOOK, mend: true }

/** Tests of reconciliation and file lists that every catalogue must pass. */
export const reconciliationRules: readonly ContentRule[] = [
  {
    name: 'releases unneeded holds, and leaves foreign ones',
    async run(catalogue) {
      const { reconciliation } = catalogue
      const rootId = await committed(catalogue, idOf('1'))
      const fetching = await request(catalogue, record(idOf('2'), { dag: dagOf('b') }))
      assert.notEqual(fetching.fetchId, null)
      await catalogue.hold(idOf('3'), rootId)
      await catalogue.hold('of the host program', rootId)
      assert.deepEqual(await whole(reconciliation).holds(LOOK), { unwanted: [idOf('3')], seen: 4 })
      assert.deepEqual((await whole(reconciliation).holds(MEND)).unwanted, [idOf('3')])
      assert.deepEqual(await whole(reconciliation).holds(MEND), { unwanted: [], seen: 3 })
      const first = await reconciliation.holds({ after: '', limit: 1, mend: false })
      const rest = await whole(reconciliation).holds({ ...LOOK, after: first.last ?? '' })
      assert.deepEqual([first.seen, rest.seen], [1, 2])
    },
  },
  {
    name: 'drops exactly the roots without a hold',
    async run(catalogue) {
      const { reconciliation } = catalogue
      await committed(catalogue, idOf('1'))
      await committed(catalogue, idOf('2'), dagOf('b'))
      await catalogue.unhold(idOf('1'))
      const { unwanted, seen } = await whole(reconciliation).roots({ ...MEND, after: 0 })
      assert.deepEqual([unwanted.length, seen], [1, 2])
      assert.equal((await whole(reconciliation).roots({ ...LOOK, after: 0 })).seen, 1)
    },
  },
  {
    name: 'holds unheld records again, and fetches lost content again',
    async run(catalogue) {
      const { reconciliation, records, fetches } = catalogue
      await committed(catalogue, idOf('1'))
      const lost = await committed(catalogue, idOf('2'), dagOf('b'))
      await committed(catalogue, idOf('3'), dagOf('c'), 'elsewhere')
      await catalogue.unhold(idOf('1'))
      await catalogue.unhold(idOf('2'))
      // No configuration has its cluster, but the content is on this node.
      await catalogue.unhold(idOf('3'))
      await catalogue.lose(lost)
      const kinds = [
        [idOf('1'), 'record-unheld'],
        [idOf('2'), 'record-lost'],
        [idOf('3'), 'record-unheld'],
      ]
      const looked = await whole(reconciliation).records({ ...step, mend: false })
      assert.deepEqual([looked.seen, looked.changes], [3, []])
      assert.deepEqual(
        looked.findings.map(({ record: id, kind }) => [id, kind]),
        kinds,
      )
      const { findings, changes } = await whole(reconciliation).records({ ...step, mend: true })
      assert.deepEqual(
        findings.map(({ record: id, kind }) => [id, kind]),
        kinds,
      )
      assert.deepEqual(
        changes.map(({ record: row, from }) => [row.id, from, row.status]),
        [[idOf('2'), 'pinned', 'pinning']],
      )
      assert.deepEqual((await whole(reconciliation).records({ ...step, mend: true })).findings, [])
      assert.equal((await whole(reconciliation).roots({ ...MEND, after: 0 })).unwanted.length, 0)
      assert.notEqual(await fetches.find(0, dagOf('b'), 0), undefined)
      assert.equal((await records.usage('one', NOW)).storedBytes, 2 * SIZES.charge)
    },
  },
  {
    name: 'accepts a record whose content is on a former backend',
    async run(catalogue) {
      const { reconciliation, records } = catalogue
      await committed(catalogue, idOf('1'))
      await committed(catalogue, idOf('2'), dagOf('b'))
      await catalogue.unhold(idOf('2'))
      const moved = { ...step, homes: new Map([['near', 7]]) }
      const { findings, changes } = await whole(reconciliation).records({ ...moved, mend: true })
      assert.deepEqual(
        findings.map(({ record: id, kind }) => [id, kind]),
        [[idOf('2'), 'record-unheld']],
      )
      assert.deepEqual(changes, [])
      assert.deepEqual((await whole(reconciliation).records({ ...moved, mend: false })).findings, [])
      assert.equal((await whole(reconciliation).roots({ ...MEND, after: 0 })).unwanted.length, 0)
      assert.equal((await records.get(idOf('2')))?.status, 'pinned')
    },
  },
  {
    name: 'sets all records of a root with lost blocks to wait',
    async run(catalogue) {
      const { reconciliation, records, fetches } = catalogue
      await committed(catalogue, idOf('1'))
      await commit(catalogue, [record(idOf('2'), { accountId: 'two' }), record(idOf('4'), { clusterId: 'elsewhere' })])
      await committed(catalogue, idOf('3'), dagOf('b'))
      const lost = { backendId: 0, dag: { ...DAG, owner: 0 }, homes: HOMES, reason: 'a block is lost', now: NOW }
      const changes = await reconciliation.requeue(lost)
      assert.deepEqual(changes.map(({ record: { id } }) => id).toSorted(), [idOf('1'), idOf('2'), idOf('4')])
      const { status, statusReason, rootId: none, fetchId } = (await records.get(idOf('1'))) as RecordRow
      assert.deepEqual([status, statusReason, none], ['pinning', 'a block is lost', null])
      assert.equal((await records.get(idOf('3')))?.status, 'pinned')
      const storedBytes = async () => (await records.usage('one', NOW)).storedBytes
      assert.equal(await storedBytes(), SIZES.charge)
      // The remaining blocks are kept while the records wait.
      assert.equal((await whole(reconciliation).roots({ ...MEND, after: 0 })).unwanted.length, 0)
      const id = fetchId ?? 0
      await fetches.start(id, NOW)
      await fetches.complete(id, { ...DAG, ...SIZES })
      assert.equal((await deliver(catalogue, id)).isDone, true)
      assert.equal((await records.get(idOf('2')))?.status, 'pinned')
      assert.equal(await storedBytes(), 2 * SIZES.charge)
    },
  },
  {
    name: 'finds fetches that no record waits for',
    async run({ reconciliation, ...catalogue }) {
      const wanted = await request({ reconciliation, ...catalogue }, record('r1'))
      const left = await request({ reconciliation, ...catalogue }, record('r2', { dag: dagOf('b') }))
      await catalogue.records.discard('r2')
      const found = await whole(reconciliation).fetches({ after: 0, limit: 10 })
      assert.deepEqual(found, { unwanted: [left.fetchId], seen: 2 })
      assert.notEqual(wanted.fetchId, left.fetchId)
    },
  },
  {
    name: 'lists the files below a root in order, paged or by content',
    async run(catalogue) {
      const { files, records } = catalogue
      const below = ['c', 'a', 'b'].map((name, i) => ({ path: name, ...dagOf(i === 1 ? 'y' : 'x'), size: i }))
      const stagedRootId = await catalogue.stage(0, below)
      const dag = { ...DAG, ...SIZES, fileCount: 3 }
      const limits = { maxPins: null, maxStorageBytes: null, maxQueuedPins: null }
      await records.commit([{ kind: 'whole', record: record('r1'), backendId: 0, stagedRootId, dag, limits, now: NOW }])
      const rootId = (await records.get('r1'))?.rootId ?? 0
      const { blocks, dagSize, fileCount } = (await files.content(rootId)) ?? {}
      assert.deepEqual([blocks, dagSize, fileCount], [SIZES.blocks, SIZES.dagSize, 3])
      const paths = async (offset: number): Promise<string[]> =>
        (await files.page(rootId, offset, 2)).map(({ path }) => path)
      assert.deepEqual([await paths(0), await paths(2), await paths(3)], [['c', 'a'], ['b'], []])
      const same = await files.pageOf(rootId, dagOf('x').multihash, 1, 2)
      assert.deepEqual([same.files.map(({ path }) => path), same.total], [['b'], 2])
      assert.equal(await files.content(rootId + 1_000), undefined)
    },
  },
]

/** Returns an id in the format of the engine's record ids. */
function idOf(name: string): string {
  return `00000000${name}abcdefghijkl`
}

async function committed(catalogue: ContentCatalogue, id: string, dag = DAG, clusterId = 'near'): Promise<number> {
  const [made] = await commit(catalogue, [record(id, { dag, clusterId })])
  return made?.record.rootId ?? 0
}
