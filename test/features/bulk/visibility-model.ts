import { join } from 'node:path'
import fc from 'fast-check'
import { CID } from 'multiformats/cid'
import { expect } from 'vitest'
import { serverAdapters } from '../../../adapters/cli/server-adapters.ts'
import type { DirectoryEntry, EngineOptions } from '../../../src/index.ts'
import { BlockTable } from '../../../src/ledger/block-table.ts'
import { HeldRoots } from '../../../src/ledger/held-roots.ts'
import { RootTable } from '../../../src/ledger/root-table.ts'
import { Database } from '../../../src/storage/database.ts'
import { createTestEngine, settled, TestClock, type TestEngine } from '../../../src/testing/index.ts'
import { apiRequest } from '../../gateway/client.ts'
import { withTempDir } from '../../support/temp-dir.ts'

type Visibility = 'public' | 'private'

/** Texts of files. Folders share some of them. */
const FILES = ['one', 'two', 'three']
const FOLDERS = [
  [0, 1],
  [1, 2],
]
const CONTENTS = FILES.length + FOLDERS.length
const UNDO_MS = 600_000

interface ModelRecord {
  id: string
  account: number
  content: number
  visibility: Visibility
  expiresAt: number | null
}

interface Job {
  id: string
  account: number
  undoUntil: number
  kept: ModelRecord[]
}

const account = fc.nat(1)
const pick = fc.nat(1_000)
const visibility = fc.constantFrom<Visibility>('public', 'private')
const content = fc.nat(CONTENTS - 1)
const seconds = fc.constantFrom(1, 30, 400)
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('upload' as const),
      ...{ account, content, visibility },
      expires: fc.option(fc.constantFrom(20, 300)),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('change' as const), pick, visibility }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('changeAll' as const), account, visibility }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('discard' as const), pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('deleteAll' as const), account }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('undo' as const), pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('take down' as const), content }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('lift' as const), content }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), seconds }) },
  { weight: 1, arbitrary: fc.constantFrom({ do: 'collect' as const }, { do: 'restart' as const }) },
)
export type VisibilityStep = typeof step extends fc.Arbitrary<infer One> ? One : never

/** Plays generated changes on an engine, and compares after each of them who may read which content with a model. */
export async function playVisibility(
  optionsOf: () => Promise<Partial<EngineOptions>>,
  limits: { runs: number; maxLength: number; examples?: VisibilityStep[][] },
): Promise<number> {
  let played = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: limits.maxLength }), async steps => {
      const options = await optionsOf()
      await withTempDir(async dataDir => {
        const world = await World.open(dataDir, options)
        try {
          for (const one of steps) {
            await world.run(one)
            await world.check(JSON.stringify(one))
            played++
          }
        } finally {
          await world.close()
        }
      })
    }),
    { numRuns: limits.runs, examples: (limits.examples ?? []).map(steps => [steps]), endOnFailure: true },
  )
  return played
}

class World {
  #engine: TestEngine
  readonly #open: () => Promise<TestEngine>
  readonly #dataDir: string
  readonly #clock: TestClock
  readonly #accounts: Array<{ id: string; key: string }>
  readonly #cids: readonly string[]
  readonly #taken = new Set<number>()
  readonly #jobs: Job[] = []
  #records: ModelRecord[] = []
  #names = 0

  private constructor(
    engine: TestEngine,
    known: { open: () => Promise<TestEngine>; dataDir: string; clock: TestClock },
    accounts: Array<{ id: string; key: string }>,
    cids: readonly string[],
  ) {
    this.#engine = engine
    this.#open = known.open
    this.#dataDir = known.dataDir
    this.#clock = known.clock
    this.#accounts = accounts
    this.#cids = cids
  }

  static async open(dataDir: string, options: Partial<EngineOptions>): Promise<World> {
    const clock = new TestClock()
    const open = () => createTestEngine({ ...serverAdapters, ...options, dataDir, clock })
    const engine = await open()
    const accounts: Array<{ id: string; key: string }> = []
    for (const name of ['one', 'two', 'nobody']) {
      const { id } = await engine.accounts.create({ email: `${name}@example.org`, plan: 'unlimited' })
      const { secret } = await engine.keys.create(id, { name: 'r', scopes: ['files:read'] })
      accounts.push({ id, key: secret })
    }
    const cids: string[] = []
    const nobody = accounts.pop()?.id ?? ''
    for (let i = 0; i < CONTENTS; i++) {
      const { uploadId, cid } = await store(engine, i, { account: nobody })
      cids.push(cid)
      await engine.pins.discard({ account: nobody, uploadId })
    }
    await engine.collect({ graceSeconds: 0 })
    return new World(engine, { open, dataDir, clock }, accounts, cids)
  }

  close(): Promise<void> {
    return this.#engine.stop()
  }

  async run(one: VisibilityStep): Promise<void> {
    const { pins, jobs } = this.#engine
    const now = this.#clock.now()
    switch (one.do) {
      case 'upload': {
        const expiresAt = one.expires === null ? null : now + one.expires * 1_000
        const timelock = expiresAt === null ? {} : { timelock: new Date(expiresAt) }
        const name = `record ${this.#names++}`
        const of = { account: this.#idOf(one.account), name, visibility: one.visibility, ...timelock }
        const { uploadId: id } = await store(this.#engine, one.content, of)
        this.#records.push({ ...one, id, expiresAt })
        break
      }
      case 'change': {
        const record = this.#pick(one.pick)
        if (record === undefined) return
        const of = { account: this.#idOf(record.account), uploadId: record.id }
        await pins.setVisibility({ ...of, visibility: one.visibility })
        record.visibility = one.visibility
        break
      }
      case 'changeAll': {
        const all = this.#live.filter(record => record.account === one.account)
        if (all.length === 0) return
        const of = { account: this.#idOf(one.account), ids: all.map(({ id }) => id) }
        await this.#ended(await jobs.start({ ...of, action: 'visibility', visibility: one.visibility }), one.account)
        for (const record of all) record.visibility = one.visibility
        break
      }
      case 'discard': {
        const record = this.#pick(one.pick)
        if (record === undefined) return
        await pins.discard({ account: this.#idOf(record.account), uploadId: record.id })
        this.#forget([record])
        break
      }
      case 'deleteAll': {
        const all = this.#live.filter(record => record.account === one.account)
        if (all.length === 0) return
        const ids = all.map(({ id }) => id)
        const { id } = await jobs.start({ account: this.#idOf(one.account), action: 'delete', ids })
        const undoUntil = await this.#ended({ id }, one.account)
        this.#jobs.push({ id, account: one.account, undoUntil: undoUntil ?? now + UNDO_MS, kept: all })
        this.#forget(all)
        break
      }
      case 'undo': {
        const open = this.#jobs.filter(({ undoUntil }) => undoUntil > now)
        const job = open[one.pick % Math.max(1, open.length)]
        if (job === undefined) return
        this.#jobs.splice(this.#jobs.indexOf(job), 1)
        await jobs.undo(job.id, { account: this.#idOf(job.account) })
        const expired = job.kept.filter(({ expiresAt }) => expiresAt !== null && expiresAt <= now)
        await this.#ended(job, job.account, expired)
        this.#records.push(...job.kept)
        break
      }
      case 'take down':
        if (this.#taken.has(one.content)) return
        this.#taken.add(one.content)
        await this.#engine.takedowns.add({ cid: this.#cids[one.content] ?? '', reason: 'x' })
        break
      case 'lift':
        if (!this.#taken.delete(one.content)) return
        await this.#engine.takedowns.remove({ cid: this.#cids[one.content] ?? '' })
        break
      case 'pass':
        this.#clock.advance(one.seconds * 1_000)
        break
      case 'collect':
        await this.#engine.collect({ graceSeconds: 0 })
        break
      case 'restart':
        await this.#engine.stop()
        this.#engine = await this.#open()
    }
    // The node looks every second for walks through roots that have just become complete.
    this.#clock.advance(1_000)
    await settled(this.#engine)
  }

  async check(after: string): Promise<void> {
    const database = new Database(join(this.#dataDir, 'holdfast.db'), { readonly: true })
    const held = new HeldRoots(new RootTable(database), new BlockTable(database))
    try {
      for (const [content, cid] of this.#cids.entries()) {
        const isOpen = this.#isOpen(content, record => record.visibility === 'public')
        const isKnown = this.#live.some(record => record.visibility === 'public' && contains(record.content, content))
        const status = await this.#statusOf(cid)
        const what = `${cid}, content ${content}, after ${after}`
        if (isOpen) expect(status, what).toBe(200)
        // Without a public record, the CID is absent, also if a folder with it is taken down.
        else if (this.#taken.has(content)) expect(status, what).toBe(410)
        else if (isKnown) expect([404, 410], what).toContain(status)
        else expect(status, what).toBe(404)
        // Peers, threads and other nodes ask the ledger.
        const found = held.open(CID.parse(cid).multihash.bytes, this.#clock.now())
        expect(typeof found === 'object' && found !== null, what).toBe(isOpen)
        for (const [index, { key }] of this.#accounts.entries()) {
          const isOwn = this.#isOpen(content, ({ visibility: of, account: by }) => of === 'public' || by === index)
          const own = await this.#statusOf(cid, { 'x-api-key': key })
          expect(own === 200, `${what}, for account ${index}: ${own}`).toBe(isOwn)
        }
      }
      for (const [index, { id }] of this.#accounts.entries()) {
        const { items } = await this.#engine.pins.list({ account: id, limit: 100 })
        const listed = items.map(({ uploadId, visibility: of }) => `${uploadId} ${of}`).toSorted()
        const expected = this.#live.filter(record => record.account === index)
        expect(listed).toEqual(expected.map(record => `${record.id} ${record.visibility}`).toSorted())
      }
    } finally {
      database.close()
    }
  }

  get #live(): ModelRecord[] {
    const now = this.#clock.now()
    return this.#records.filter(({ expiresAt }) => expiresAt === null || expiresAt > now)
  }

  /** Returns whether one of the records leads to the content by a way without a takedown. */
  #isOpen(target: number, counts: (record: ModelRecord) => boolean): boolean {
    if (this.#taken.has(target)) return false
    return this.#live.some(
      record => counts(record) && contains(record.content, target) && !this.#taken.has(record.content),
    )
  }

  #pick(number: number): ModelRecord | undefined {
    return this.#live[number % Math.max(1, this.#live.length)]
  }

  #forget(records: readonly ModelRecord[]): void {
    this.#records = this.#records.filter(record => !records.includes(record))
  }

  #idOf(index: number): string {
    return this.#accounts[index]?.id ?? ''
  }

  /** Waits for the end of a job, which can restore no records that have expired since. */
  async #ended({ id }: { id: string }, index: number, expired: readonly ModelRecord[] = []): Promise<number | null> {
    const job = await this.#engine.jobs.untilEnded(id, { account: this.#idOf(index) })
    const failures = expired.map(({ id: uploadId }) => ({ uploadId, code: 'EXPIRED' }))
    expect(job.failures.toSorted((a, b) => (a.uploadId < b.uploadId ? -1 : 1))).toEqual(
      failures.toSorted((a, b) => (a.uploadId < b.uploadId ? -1 : 1)),
    )
    return job.undoUntil
  }

  async #statusOf(cid: string, headers: Record<string, string> = {}): Promise<number> {
    const { status, body } = await this.#engine.gateway(apiRequest('GET', `/ipfs/${cid}?format=raw`, headers))
    if (body !== null && typeof body === 'object' && Symbol.asyncIterator in body) for await (const _ of body);
    return status
  }
}

function contains(content: number, target: number): boolean {
  return content === target || (FOLDERS[content - FILES.length] ?? []).includes(target)
}

async function store(
  engine: TestEngine,
  content: number,
  options: { account: string; name?: string; visibility?: Visibility; timelock?: Date },
): Promise<{ uploadId: string; cid: string }> {
  const textOf = (file: number): string => `the file ${FILES[file]}`
  const folder = FOLDERS[content - FILES.length]
  if (folder === undefined) return (await engine.pins.upload(textOf(content), options)).record
  const entries = folder.map((file): DirectoryEntry => ({ kind: 'file', path: `${file}.txt`, content: textOf(file) }))
  return (await engine.pins.uploadDirectory(entries, options)).record
}
