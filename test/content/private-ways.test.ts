import { describe, expect, test } from 'vitest'
import { ReachWalker } from '../../src/content/reach-walk.ts'
import { BlockTable } from '../../src/ledger/block-table.ts'
import { HeldRoots } from '../../src/ledger/held-roots.ts'
import { Holds } from '../../src/ledger/holds.ts'
import { PUBLIC } from '../../src/ledger/possessor.ts'
import { type ReachWalk, STAGE } from '../../src/ledger/reach-walks.ts'
import { RootOwners } from '../../src/ledger/root-owners.ts'
import { RootTable } from '../../src/ledger/root-table.ts'
import type { Database } from '../../src/storage/database.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { leaf, randomFile } from '../pins/fetches/support/dags.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { type ContentParts, withContentParts } from '../support/content-parts.ts'

const OWN = 77
const file = randomFile(4, 2_000, 'a shared file')
const small = leaf(pseudoRandom(200, 'a shared block'))
const inner = file.blocks.find(({ cid }) => !cid.equals(file.root))

/** Stores a DAG as a complete root with a hold. Returns the id of the root. */
async function stored(parts: ContentParts, hold: string, { owner = PUBLIC, dag = file } = {}): Promise<number> {
  const staged = await parts.stage()
  for (const { cid, bytes } of dag.blocks) await staged.put(cid, bytes)
  await staged.settle()
  if (owner !== PUBLIC) await staged.close()
  const { dagSize, rootId } = staged
  const whole = { codec: dag.root.code, multihash: dag.root.multihash.bytes, owner, ...staged.sizes(dagSize) }
  await parts.ledger.keep(hold, { backendId: 0, stagedRootId: rootId, dag: whole, ends: null })
  return rootId
}

/** Adds roots that need a block and have become private, but still have a public way. */
function addStale({ database }: ContentParts, count: number, multihash: Uint8Array): void {
  const root = database.prepare<[number], unknown>(`
    INSERT INTO roots (backend_id, state, codec, multihash, owner, content_size, dag_size, file_count, blocks, charge,
      created_at) VALUES (0, 'complete', 85, randomblob(34), ?, 1, 1, 0, 1, 512, 0)`)
  const need = database.prepare<[number, Uint8Array], unknown>(
    'INSERT INTO root_blocks (root_id, block_id) SELECT ?, id FROM blocks WHERE multihash = ?',
  )
  for (let i = 0; i < count; i++) need.run(Number(root.run(1_000 + i).lastInsertRowid), multihash)
}

/** Returns a database that counts the statements that it runs. */
function counted(database: Database): { database: Database; count: () => number } {
  let count = 0
  const counting = {
    get: (target: object, name: string) => {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...values: unknown[]) => {
        count++
        return value.apply(target, values)
      }
    },
  }
  const prepare = (text: string): object => new Proxy(database.prepare(text), counting as ProxyHandler<object>)
  return { database: { prepare } as unknown as Database, count: () => count }
}

function ownersOf({ database, roots }: ContentParts): RootOwners {
  return new RootOwners(database, { roots, holds: new Holds(database, roots), queue: new WriteQueue(database) })
}

function waysOf({ database }: ContentParts, rootId: number): number[] {
  const ways = database.prepare<[number], { way: number }>('SELECT DISTINCT way FROM root_blocks WHERE root_id = ?')
  return ways.all(rootId).map(({ way }) => way)
}

async function walked(parts: ContentParts): Promise<void> {
  const walker = new ReachWalker(parts.reach, () => parts.store)
  for (let next = parts.reach.next(0); next !== undefined; next = parts.reach.next(0)) {
    await walker.step(next, new AbortController().signal)
  }
}

const open = (parts: ContentParts, multihash = inner?.cid.multihash.bytes ?? new Uint8Array()) =>
  parts.held.open(multihash, parts.clock.now())

describe('a block below roots that have become private', () => {
  test.each([
    [64, 'served'],
    [65, 503],
  ])('below %i of them and a younger public root is %s', (count, expected) =>
    withContentParts(async parts => {
      const { multihash } = small.root
      await stored(parts, 'first', { dag: small })
      addStale(parts, count, multihash.bytes)
      await stored(parts, 'a folder', { dag: { ...file, blocks: [...file.blocks, ...small.blocks] } })
      await parts.ledger.release('first')
      const found = open(parts, multihash.bytes)
      expect(typeof found === 'object' && found !== null ? 'served' : found).toBe(expected)
    }),
  )

  test('takes as many statements as an absent block if all are private', () =>
    withContentParts(async parts => {
      await stored(parts, 'mine', { owner: OWN })
      const { database, count } = counted(parts.database)
      const held = new HeldRoots(new RootTable(database), new BlockTable(database))
      const countOf = (multihash: Uint8Array): number => {
        const before = count()
        expect(held.open(multihash, parts.clock.now())).toBeNull()
        return count() - before
      }
      const absent = countOf(small.root.multihash.bytes)
      expect(file.blocks.map(({ cid }) => countOf(cid.multihash.bytes))).toEqual(file.blocks.map(() => absent))
    }))

  test('is absent if all of them are private, however many', () =>
    withContentParts(async parts => {
      for (let i = 0; i < 70; i++) await stored(parts, `hold ${i}`, { owner: OWN + i })
      expect(open(parts)).toBeNull()
      expect(open(parts, file.root.multihash.bytes)).toBeNull()
      await stored(parts, 'public')
      expect(open(parts)).toMatchObject({ isLocal: true })
      expect(open(parts, file.root.multihash.bytes)).toMatchObject({ isLocal: true })
    }))
})

describe('the only hold on a public root', () => {
  test('takes the root with it, and a walk closes the blocks', () =>
    withContentParts(async parts => {
      const rootId = await stored(parts, 'mine')
      const owners = ownersOf(parts)
      expect(owners.give('mine', OWN)).toBe(rootId)
      expect(open(parts)).toBeNull()
      expect(waysOf(parts, rootId)).toEqual([0])
      await walked(parts)
      expect(waysOf(parts, rootId)).toEqual([1_000])
      expect(owners.give('mine', OWN)).toBe(rootId)
      expect(owners.give('mine', PUBLIC)).toBeNull()
    }))

  test('shares a step with other roots, whose blocks close, too', () =>
    withContentParts(async parts => {
      const ids = await Promise.all(
        [1, 2, 3].map(number => stored(parts, `hold ${number}`, { dag: leaf(pseudoRandom(200, `of ${number}`)) })),
      )
      for (const [index, id] of ids.entries()) expect(ownersOf(parts).give(`hold ${index + 1}`, OWN)).toBe(id)
      const walk = parts.reach.next(0)
      if (walk === undefined) throw new Error('no walk is due')
      await new ReachWalker(parts.reach, () => parts.store).step(walk, new AbortController().signal)
      expect(ids.flatMap(id => waysOf(parts, id))).toEqual([1_000, 1_000, 1_000])
      expect(parts.reach.next(0)).toBeUndefined()
    }))

  test('keeps takedowns in the way', () =>
    withContentParts(async parts => {
      const rootId = await stored(parts, 'mine')
      const { multihash } = file.root
      await parts.withheld.apply([{ multihash: multihash.bytes, status: 451, carried: [] }])
      ownersOf(parts).give('mine', OWN)
      await walked(parts)
      expect(waysOf(parts, rootId)).toEqual([1_451])
      expect(open(parts)).toBeNull()
      parts.database.prepare('UPDATE roots SET barred = 0').run()
      expect(parts.held.own(inner?.cid.multihash.bytes ?? new Uint8Array(), 0, OWN)).toBeNull()
    }))
})

describe('a root that becomes private during a walk', () => {
  /** Steps walks until one is in a stage. Returns it as the next step would read it. */
  async function until(parts: ContentParts, stage: number): Promise<ReachWalk> {
    for (let next = parts.reach.next(0); next !== undefined; next = parts.reach.next(0)) {
      if (next.stage === stage) return next
      await step(parts, next)
    }
    throw new Error('no walk has reached the stage')
  }
  const step = (parts: ContentParts, walk: ReachWalk) =>
    new ReachWalker(parts.reach, () => parts.store).step(walk, new AbortController().signal)
  const takeDown = (parts: ContentParts) =>
    parts.withheld.apply([{ multihash: inner?.cid.multihash.bytes ?? new Uint8Array(), status: 410, carried: [] }])

  test.each([
    ['stores ways', STAGE.note],
    ['ends', STAGE.end],
  ])('is closed if the walk %s meanwhile', (_, stage) =>
    withContentParts(async parts => {
      const rootId = await stored(parts, 'mine')
      await takeDown(parts)
      let walk = await until(parts, stage)
      if (stage === STAGE.end) await step(parts, walk)
      walk = parts.reach.next(0) ?? walk
      ownersOf(parts).give('mine', OWN)
      // A step that has read the walk before.
      await step(parts, walk)
      await walked(parts)
      expect(waysOf(parts, rootId).toSorted()).toEqual([1_000, 1_410])
    }),
  )
})

describe('one of several holds on a public root', () => {
  test('moves to a copy, and back to the public root', () =>
    withContentParts(async parts => {
      const rootId = await stored(parts, 'mine')
      await stored(parts, 'theirs')
      const owners = ownersOf(parts)
      expect(owners.give('mine', OWN)).toBeNull()
      const staged = await owners.copy('mine', OWN, 0)
      if (staged === null) throw new Error('no copy was staged')
      expect(owners.giveCopy('mine', { staged, from: rootId, owner: OWN })).toBe(staged)
      expect(waysOf(parts, staged)).toEqual([1_000])
      expect(open(parts)).toMatchObject({ rootId })
      await parts.ledger.release('theirs')
      expect(open(parts)).toBeNull()
      const back = await owners.copy('mine', PUBLIC, 0)
      if (back === null) throw new Error('no copy was staged')
      expect(owners.giveCopy('mine', { staged: back, from: staged, owner: PUBLIC })).toBe(back)
      expect(waysOf(parts, back)).toEqual([0])
      expect(open(parts)).toMatchObject({ rootId: back })
    }))

  test('abandons a copy of a root that it has left', () =>
    withContentParts(async parts => {
      const rootId = await stored(parts, 'mine')
      await stored(parts, 'theirs')
      const owners = ownersOf(parts)
      const staged = await owners.copy('mine', OWN, 0)
      if (staged === null) throw new Error('no copy was staged')
      await parts.ledger.release('mine')
      expect(owners.giveCopy('mine', { staged, from: rootId, owner: OWN })).toBeNull()
      const state = parts.database.prepare<[number], { state: string }>('SELECT state FROM roots WHERE id = ?')
      expect(state.get(staged)?.state).toBe('dropped')
      expect(await owners.copy('none', OWN, 0)).toBeNull()
    }))

  test('has no copy of a root that it leaves meanwhile', () =>
    withContentParts(async parts => {
      await stored(parts, 'mine')
      await stored(parts, 'theirs')
      const copying = ownersOf(parts).copy('mine', OWN, 0)
      await parts.ledger.release('mine')
      expect(await copying).toBeNull()
      const staged = parts.database.prepare<[], { count: number }>(
        "SELECT COUNT(*) AS count FROM roots WHERE state = 'staging'",
      )
      expect(staged.get()?.count).toBe(0)
    }))
})
