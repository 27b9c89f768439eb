import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DirectoryEntry, PinRecord } from '../../src/index.ts'
import { pseudoRandom, sha256Hex } from '../support/bytes.ts'
import { turns } from '../support/content-parts.ts'
import { dagBytes, readFile, readTree } from '../support/read-back.ts'
import { EMPTY, storeSizes, strayBlocks, withDatabase } from '../support/store-inspection.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'

const CHUNK = 1024 ** 2
/** Contents are words over this alphabet, so that DAGs share chunks; each word ends with a shorter chunk. */
const LETTERS = [...'abc'].map(letter => pseudoRandom(CHUNK, `letter ${letter}`))
const TAILS = [Buffer.alloc(0), pseudoRandom(100, 'short tail'), pseudoRandom(40_000, 'long tail')]

interface Word {
  letters: number[]
  tail: number
}

type Step =
  | { do: 'upload'; account: number; word: Word; expires: number | null; name: string; cluster: number }
  | { do: 'directory'; account: number; words: Word[]; expires: number | null }
  | { do: 'remove'; account: number; pick: number; cluster: boolean }
  | { do: 'pass'; seconds: number }
  | { do: 'collect' }

const CLUSTERS = ['cl0-global', 'cl1-eu']

const word: fc.Arbitrary<Word> = fc.record({
  letters: fc.array(fc.nat(LETTERS.length - 1), { maxLength: 2 }),
  tail: fc.nat(TAILS.length - 1),
})
const account = fc.nat(1)
const expires = fc.option(fc.integer({ min: 1, max: 90 }))
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('upload' as const),
      account,
      word,
      expires,
      name: fc.constantFrom('x', 'y'),
      cluster: fc.nat(1),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('directory' as const),
      account,
      words: fc.array(word, { minLength: 1, maxLength: 3 }),
      expires,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('remove' as const), account, pick: fc.nat(20), cluster: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), seconds: fc.integer({ min: 1, max: 60 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('collect' as const) }) },
)
/** The steps of one group start at the same time. */
const plan = fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 })

function bytesOf({ letters, tail }: Word): Buffer {
  return Buffer.concat([...letters.map(letter => LETTERS[letter] ?? Buffer.alloc(0)), TAILS[tail] ?? Buffer.alloc(0)])
}

/** Content that the engine has acknowledged: records by id, with their expected bytes. */
class Model {
  readonly records = new Map<string, { record: PinRecord; hashes: Record<string, string> }>()
  readonly #removed = new Set<string>()

  /** Accepts a repeated request that returns a record removed at the same time. */
  add(record: PinRecord, hashes: Record<string, string>): void {
    if (!this.#removed.has(record.uploadId)) this.records.set(record.uploadId, { record, hashes })
  }

  remove(id: string): void {
    this.#removed.add(id)
    this.records.delete(id)
  }

  live(accountId: string, now: number): PinRecord[] {
    return [...this.records.values()]
      .map(({ record }) => record)
      .filter(record => record.accountId === accountId && (record.expiresAt === null || record.expiresAt > now))
  }
}

class Run {
  readonly #test: TestEngine
  readonly #accounts: string[]
  readonly #model = new Model()

  constructor(test: TestEngine, accounts: string[]) {
    this.#test = test
    this.#accounts = accounts
  }

  async group(steps: Step[]): Promise<void> {
    await Promise.all(steps.map(step => this.#step(step)))
    await this.#swept()
    await this.check()
  }

  /** Waits until expired records are removed, which count until then. */
  async #swept(): Promise<void> {
    const { clock, dataDir } = this.#test
    const expired = `SELECT COUNT(*) AS count FROM records WHERE expires_at <= ${clock.now()}`
    const left = (): number => withDatabase(dataDir, db => db.prepare<[], { count: number }>(expired).get()?.count ?? 0)
    for (let looks = 0; left() > 0; looks++) {
      expect(looks).toBeLessThan(1_000)
      // A record that expired during its upload is due at once.
      clock.advance(0)
      await turns(1)
    }
  }

  async #step(step: Step): Promise<void> {
    const { engine, clock } = this.#test
    if (step.do === 'collect') {
      await engine.collect({ graceSeconds: 0 })
    } else if (step.do === 'pass') {
      clock.advance(step.seconds * 1_000)
      await turns(10)
    } else if (step.do === 'remove') {
      await this.#remove(step)
    } else {
      // The clock may pass the expiry before the upload ends.
      await this.#store(step).catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'INVALID_TIMELOCK' })
        expect(step.expires).not.toBeNull()
      })
    }
  }

  async #store(step: Extract<Step, { do: 'upload' | 'directory' }>): Promise<void> {
    const { engine, clock } = this.#test
    const account = this.#accounts[step.account] ?? ''
    const timelock =
      step.expires === null ? undefined : new Date(clock.now() + step.expires * 1_000 + 60_000).toISOString()
    if (step.do === 'upload') {
      const bytes = bytesOf(step.word)
      const options = { account, timelock, name: step.name, cluster: CLUSTERS[step.cluster] }
      const { record } = await engine.pins.upload(bytes, options)
      this.#model.add(record, { '': sha256Hex(bytes) })
      return
    }
    const files = step.words.map((word, i): [string, Buffer] => [`d${i % 2}/f${i}`, bytesOf(word)])
    const entries = (async function* (): AsyncGenerator<DirectoryEntry> {
      for (const [path, content] of files) yield { kind: 'file', path, content }
    })()
    const { record } = await engine.pins.uploadDirectory(entries, { account, timelock })
    const hashes = Object.fromEntries(files.map(([path, content]) => [path, sha256Hex(content)]))
    this.#model.add(record, hashes)
  }

  async #remove(step: Extract<Step, { do: 'remove' }>): Promise<void> {
    const { engine, clock } = this.#test
    const account = this.#accounts[step.account] ?? ''
    const live = this.#model.live(account, clock.now())
    const victim = live[step.pick % Math.max(live.length, 1)]
    if (victim === undefined) return
    const cluster = step.cluster ? victim.clusterId : undefined
    // Another removal of the same group may have been faster.
    const removed = await engine.pins.remove({ account, cid: victim.cid, cluster }).catch((error: unknown) => {
      expect(error).toMatchObject({ code: 'PIN_NOT_FOUND' })
      return []
    })
    for (const record of removed) this.#model.remove(record.uploadId)
  }

  /** Checks the invariants between two groups. */
  async check(): Promise<void> {
    const { engine, clock } = this.#test
    for (const account of this.#accounts) {
      const live = this.#model.live(account, clock.now())
      const list = await engine.pins.list({ account, limit: 1_000 })
      expect(list.items.map(item => item.uploadId).sort()).toEqual(live.map(record => record.uploadId).sort())
      expect(list.total).toBe(live.length)
      const source = await this.#test.engine.clusters.backendOf()
      const charges = await Promise.all([...new Set(live.map(record => record.cid))].map(cid => dagBytes(source, cid)))
      const usage = await engine.pins.usage(account)
      expect(usage).toEqual({
        pins: live.length,
        storedBytes: charges.reduce((sum, { charge }) => sum + charge, 0),
        keptBytes: 0,
      })
      for (const record of live) await this.#readBack(record)
    }
  }

  async #readBack(record: PinRecord): Promise<void> {
    const backend = await this.#test.engine.clusters.backendOf()
    expect((await dagBytes(backend, record.cid)).bytes).toBe(record.dagSize)
    const hashes: Record<string, string> = this.#model.records.get(record.uploadId)?.hashes ?? {}
    if (record.type === 'file') {
      expect(sha256Hex(await readFile(backend, record.cid))).toBe(hashes[''])
    } else {
      expect(await readTree(backend, record.cid)).toMatchObject(hashes)
    }
  }

  /** Removes everything and checks that nothing stays. */
  async end(): Promise<void> {
    const { engine, clock, dataDir } = this.#test
    await engine.collect({ graceSeconds: 0 })
    expect(await strayBlocks(dataDir)).toEqual({ files: [], rows: [] })
    for (const account of this.#accounts) {
      for (const { cid } of this.#model.live(account, clock.now())) {
        await engine.pins.remove({ account, cid }).catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'PIN_NOT_FOUND' })
        })
      }
      expect((await engine.pins.usage(account)).pins).toBe(0)
    }
    clock.advance(200_000)
    await this.#swept()
    await engine.collect({ graceSeconds: 0 })
    expect(await storeSizes(dataDir)).toEqual(EMPTY)
  }
}

describe('the ledger', () => {
  test('keeps exactly the content of live records under concurrent operations', async () => {
    await withEngine(async test => {
      const accounts = [test.account, await test.newAccount()]
      await fc.assert(
        fc.asyncProperty(plan, async groups => {
          const run = new Run(test, accounts)
          try {
            for (const group of groups) await run.group(group)
          } finally {
            await run.end()
          }
        }),
        { numRuns: 30 },
      )
    })
  })
})
