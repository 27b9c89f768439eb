import * as dagCbor from '@ipld/dag-cbor'
import fc from 'fast-check'
import { CID } from 'multiformats/cid'
import { identity } from 'multiformats/hashes/identity'
import { sha256 } from 'multiformats/hashes/sha2'
import { expect, test } from 'vitest'
import type { StagedDag } from '../../src/content/dag/staged-dag.ts'
import { ReachWalker } from '../../src/content/reach-walk.ts'
import { Withholding } from '../../src/content/withholding.ts'
import { silentLogger } from '../../src/domain/logger.ts'
import { Denylist } from '../../src/gateway/policy/denylist.ts'
import type { RefusalStatus } from '../../src/ledger/held-roots.ts'
import { type ContentParts, withContentParts } from '../support/content-parts.ts'

/** A block of the pool; it links to others with a larger number. */
interface Node {
  cid: CID
  bytes: Uint8Array
  links: number[]
}

interface Change {
  do: 'store' | 'drop' | 'take down' | 'lift'
  pick: number
  status: 410 | 451
}
type Step = Change | { do: 'walk'; count: number } | { do: 'collect' } | { do: 'restart' }

const SIZE = 10
const pick = fc.nat(SIZE - 1)
const status = fc.constantFrom(410 as const, 451 as const)
const shape = fc.array(fc.array(pick, { maxLength: 4 }), { minLength: SIZE, maxLength: SIZE })
/** Nodes within identity CIDs. */
const inline = fc.uniqueArray(pick, { maxLength: 3 })
const one = (what: Change['do']): fc.Arbitrary<Step> => fc.record({ do: fc.constant(what), pick, status })
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: one('store') },
    { weight: 3, arbitrary: one('take down') },
    { weight: 2, arbitrary: one('lift') },
    { weight: 1, arbitrary: one('drop') },
    { weight: 5, arbitrary: fc.nat(6).map((count): Step => ({ do: 'walk', count })) },
    { weight: 1, arbitrary: fc.constantFrom<Step>({ do: 'collect' }, { do: 'restart' }) },
  ),
  { maxLength: 30 },
)

async function poolOf(shapes: readonly number[][], inlined: readonly number[]): Promise<Node[]> {
  const pool: Node[] = []
  for (let index = SIZE - 1; index >= 0; index--) {
    const links = (shapes[index] ?? []).filter(link => link > index)
    const bytes = dagCbor.encode({ index, links: links.map(link => pool[link]?.cid) })
    const digest = inlined.includes(index) ? identity.digest(bytes) : await sha256.digest(bytes)
    pool[index] = { cid: CID.createV1(dagCbor.code, digest), bytes, links }
  }
  return pool
}

class World {
  readonly #parts: ContentParts
  readonly #pool: readonly Node[]
  readonly #roots = new Map<number, StagedDag>()
  readonly #taken = new Map<number, 410 | 451>()
  readonly #walker: ReachWalker
  #withholding: Withholding

  constructor(parts: ContentParts, pool: readonly Node[]) {
    this.#parts = parts
    this.#pool = pool
    this.#walker = new ReachWalker(parts.reach, () => parts.store)
    this.#withholding = this.#begin()
  }

  async run(step: Step): Promise<void> {
    if (step.do === 'walk') return this.walk(step.count)
    if (step.do === 'collect') return void (await this.#parts.collector.collect(0))
    if (step.do === 'restart') {
      this.#withholding = this.#begin()
      return this.#withholding.begin(this.#list())
    }
    const before = this.#list()
    if (step.do === 'store') return this.#store(step.pick)
    if (step.do === 'drop') return this.#drop(step.pick)
    if (step.do === 'take down') this.#taken.set(step.pick, step.status)
    else this.#taken.delete(step.pick)
    await this.#withholding.change(before, this.#list())
  }

  /** Runs a number of steps of the due walks. */
  async walk(most: number): Promise<void> {
    for (let done = 0; done < most; done++) {
      const walk = this.#parts.reach.next(this.#parts.clock.now())
      if (walk === undefined) return
      await this.#walker.step(walk, new AbortController().signal)
    }
  }

  /** Checks that nothing is open that must not be. After all walks, checks that everything is as expected. */
  check(isSettled: boolean): void {
    for (const [index, { cid }] of this.#pool.entries()) {
      if (cid.multihash.code === identity.code || this.#taken.has(index)) continue
      const found = this.#parts.held.open(cid.multihash.bytes, this.#parts.clock.now())
      const expected = this.#expected(index)
      if (typeof found === 'object' && found !== null) expect(expected, `${index} is open`).toBe('open')
      else if (isSettled) expect(expected, `${index} is refused by ${found}`).toBe(found)
    }
  }

  #expected(index: number): 'open' | RefusalStatus | null {
    const ways = [...this.#roots.keys()].flatMap(root => this.#waysFrom(root).get(index) ?? [])
    if (ways.includes(0)) return 'open'
    // Among several roots, the first one found decides.
    const found = this.#parts.held.open(this.#cid(index).multihash.bytes, this.#parts.clock.now())
    const statuses = ways.filter(way => way === 410 || way === 451)
    if (statuses.length === 0) return null
    return statuses.some(one => one === found) ? (found as RefusalStatus) : (statuses[0] ?? null)
  }

  /** Returns the ways to each block below a root, by a plain walk. A takedown of the root decides for all of them. */
  #waysFrom(root: number): Map<number, number[]> {
    const ways = new Map<number, number[]>()
    const visit = (index: number, way: number): void => {
      const own = this.#taken.get(root) ?? this.#taken.get(index) ?? way
      const known = ways.get(index) ?? []
      if (known.includes(own)) return
      ways.set(index, [...known, own])
      for (const link of this.#pool[index]?.links ?? []) visit(link, own)
    }
    visit(root, 0)
    return ways
  }

  async #store(root: number): Promise<void> {
    if (this.#roots.has(root)) return
    const staged = await this.#parts.stage()
    for (const index of this.#waysFrom(root).keys())
      await staged.put(this.#cid(index), this.#pool[index]?.bytes ?? new Uint8Array())
    await this.#parts.complete(staged, this.#cid(root))
    this.#roots.set(root, staged)
  }

  async #drop(root: number): Promise<void> {
    const staged = this.#roots.get(root)
    if (staged === undefined) return
    this.#roots.delete(root)
    await this.#parts.drop(staged)
  }

  #cid(index: number): CID {
    const node = this.#pool[index]
    if (node === undefined) throw new Error(`there is no node ${index}`)
    return node.cid
  }

  #list(): Denylist {
    return new Denylist(
      [...this.#taken].map(([index, one]) => `/ipfs/${this.#cid(index)} gateway_status:${one}`).join('\n'),
    )
  }

  /** Leaves the walks to the test, which requests each step. */
  #begin(): Withholding {
    const { withheld: table, reach: walks, clock } = this.#parts
    const withholding = new Withholding({ table, walks, walker: this.#walker, clock, logger: silentLogger })
    withholding.wake = () => undefined
    return withholding
  }
}

/** Two ways lead to node 3, and one is taken down. */
const SHARED_CHILD: [number[][], number[], Step[]] = [
  [[1, 2], [3], [3], ...Array.from({ length: SIZE - 3 }, () => [])],
  [],
  [
    { do: 'take down', pick: 2, status: 410 },
    { do: 'store', pick: 0, status: 410 },
  ],
]

/** A root and a block below it are taken down with different statuses. */
const NESTED: [number[][], number[], Step[]] = [
  [[1], [2], ...Array.from({ length: SIZE - 2 }, () => [])],
  [],
  [
    { do: 'take down', pick: 1, status: 451 },
    { do: 'take down', pick: 0, status: 410 },
    { do: 'store', pick: 0, status: 410 },
  ],
]

/** Node 0 leads to node 3 by nodes 1 and 2, which are identity CIDs; node 4 leads to it by node 2. */
const CARRIED: [number[][], number[]] = [
  [[1], [2], [3], [5], [2], ...Array.from({ length: SIZE - 5 }, () => [])],
  [1, 2],
]
const STORED: Step[] = [
  { do: 'store', pick: 0, status: 410 },
  { do: 'store', pick: 4, status: 410 },
]
const TAKEN: Step[] = [
  { do: 'take down', pick: 1, status: 410 },
  { do: 'take down', pick: 2, status: 451 },
]
const ALL_WALKS: Step[] = [{ do: 'walk', count: 100 }]
const LIFTED: Step[] = [{ do: 'lift', pick: 2, status: 410 }, ...ALL_WALKS, { do: 'lift', pick: 1, status: 410 }]
/** Two ways lead from node 0 to node 3, and the one by an identity CID is taken down. */
const CARRIED_AND_OPEN: [number[][], number[], Step[]] = [
  [[1, 2], [3], [3], ...Array.from({ length: SIZE - 3 }, () => [])],
  [1],
  [
    { do: 'store', pick: 0, status: 410 },
    { do: 'take down', pick: 1, status: 410 },
  ],
]
const CARRIED_CHILD: [number[][], number[], Step[]][] = [
  [...CARRIED, [...STORED, ...TAKEN.slice(0, 1)]],
  [...CARRIED, [...STORED, ...TAKEN]],
  [...CARRIED, [...TAKEN, ...STORED]],
  [...CARRIED, [...TAKEN, { do: 'restart' }, ...STORED, ...ALL_WALKS, ...LIFTED]],
  [...CARRIED, [...STORED, ...TAKEN, ...ALL_WALKS, ...LIFTED, { do: 'restart' }]],
]

test('a block is open exactly if a root reaches it past takedowns', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(shape, inline, steps, async (shapes, inlined, all) => {
      const pool = await poolOf(shapes, inlined)
      await withContentParts(async parts => {
        const world = new World(parts, pool)
        for (const step of all) {
          await world.run(step)
          world.check(false)
        }
        await world.walk(10_000)
        world.check(true)
      })
    }),
    { numRuns: 60, examples: [SHARED_CHILD, NESTED, CARRIED_AND_OPEN, ...CARRIED_CHILD] },
  )
})
