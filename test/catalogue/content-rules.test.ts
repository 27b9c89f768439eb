import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sqliteContent } from '../../src/catalogue/sqlite/content-catalogue.ts'
import { BlockTable } from '../../src/ledger/block-table.ts'
import { Holds } from '../../src/ledger/holds.ts'
import { RootTable } from '../../src/ledger/root-table.ts'
import { Database } from '../../src/storage/database.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { ACCOUNTS, contentRules } from './content-rules.ts'
import { type ContentCatalogue, memoryContent } from './memory-content.ts'

function withSqlite(run: (catalogue: ContentCatalogue) => Promise<void>): Promise<void> {
  return withTempDir(async dir => {
    const db = new Database(join(dir, 'holdfast.db'))
    const queue = new WriteQueue(db)
    const roots = new RootTable(db)
    const account = db.prepare<[string, string]>(
      "INSERT INTO accounts (id, email, plan, role, created_at) VALUES (?, ?, 'unlimited', 'user', 0)",
    )
    for (const id of ACCOUNTS) account.run(id, `${id}@test`)
    const content = sqliteContent(db, queue, { roots, holds: new Holds(db, roots), blocks: new BlockTable(db) })
    try {
      await run({ ...content, stage: backendId => queue.run(() => roots.stage(backendId, 0), { durable: false }) })
    } finally {
      await queue.settled()
      db.close()
    }
  })
}

describe('records and fetches in SQLite', () => {
  test.each(contentRules)('$name', ({ run }) => withSqlite(run))
})

describe('records and fetches in memory', () => {
  test.each(contentRules)('$name', ({ run }) => run(memoryContent()))
})

type Broken = (right: ContentCatalogue) => Partial<Pick<ContentCatalogue, 'records' | 'fetches'>>

/** Catalogues that are wrong in one thing each, and words of the rules that find it out. */
const wrong: ReadonlyArray<[what: string, broken: Broken, rules: RegExp[]]> = [
  [
    'says that it has committed and has not',
    ({ records, stage }) => ({
      records: {
        ...records,
        commit: async intents => {
          const made = await records.commit(intents)
          for (const { record, created } of made) if (created) await records.discard(record.id)
          await stage(0)
          return made
        },
      },
    }),
    [/^a committed record/, /^a removal takes all/],
  ],
  [
    'commits one record after the other',
    ({ records }) => ({
      records: {
        ...records,
        commit: async intents => {
          const made = []
          for (const intent of intents) made.push(...(await records.commit([intent])))
          return made
        },
      },
    }),
    [/^of records that are committed together/],
  ],
  [
    'makes another record of the same request',
    ({ records }) => ({
      records: {
        ...records,
        commit: intents =>
          records.commit(intents.map(one => ({ ...one, record: { ...one.record, originalName: one.record.id } }))),
      },
    }),
    [/^a committed record/, /^content that comes otherwise/],
  ],
  [
    'forgets the rest of a long removal',
    ({ records }) => ({
      records: {
        ...records,
        remove: async request => {
          const rows = await records.ofDag({ ...request, limit: 50 })
          for (const { id } of rows) await records.discard(id)
          return rows
        },
      },
    }),
    [/^a removal takes all/],
  ],
  [
    'removes in every cluster',
    ({ records }) => ({
      records: { ...records, remove: request => records.remove({ ...request, clusterId: null }) },
    }),
    [/^a removal takes all/],
  ],
  [
    'answers a removal twice',
    ({ records }) => {
      let last: Awaited<ReturnType<typeof records.remove>> = []
      const remove: typeof records.remove = async request => {
        const rows = await records.remove(request)
        last = rows.length > 0 ? rows : last
        return last
      }
      return { records: { ...records, remove } }
    },
    [/^a removal takes all/],
  ],
  [
    'shows what has expired until it is removed',
    ({ records }) => ({
      records: { ...records, page: (filter, ...rest) => records.page({ ...filter, now: 0 }, ...rest) },
    }),
    [/^what has expired/],
  ],
  [
    'delivers and delivers again',
    ({ fetches }) => {
      let last: Awaited<ReturnType<typeof fetches.deliver>> | null = null
      const deliver: typeof fetches.deliver = async (...request) => {
        const made = await fetches.deliver(...request)
        last = made.changes.length > 0 || last === null ? made : last
        return last
      }
      return { fetches: { ...fetches, deliver } }
    },
    [/^records of one content wait/],
  ],
  [
    'delivers whatever the limits are',
    ({ fetches }) => ({
      fetches: {
        ...fetches,
        deliver: (id, limits, now) => {
          const none = { maxPins: null, maxStorageBytes: null, maxQueuedPins: null }
          return fetches.deliver(id, new Map([...limits.keys()].map(account => [account, none])), now)
        },
      },
    }),
    [/^who cannot have content/],
  ],
  [
    'gives a fetch up that somebody waits for',
    ({ fetches }) => ({ fetches: { ...fetches, dropIfUnneeded: async () => true } }),
    [/^a fetch goes with the last/],
  ],
  [
    'forgets when to try again',
    ({ fetches }) => ({
      fetches: { ...fetches, fail: (id, failure, now) => fetches.fail(id, { ...failure, retryAt: null }, now) },
    }),
    [/^an attempt that fails/],
  ],
  [
    'tells of a failure without its code',
    ({ fetches }) => ({
      fetches: {
        ...fetches,
        fail: (id, failure, now) =>
          fetches.fail(id, { ...failure, reason: { code: null, text: failure.reason.text } }, now),
      },
    }),
    [/^an attempt that fails/],
  ],
]

describe('the rules find out a catalogue that', () => {
  test.each(wrong)('%s', async (_, broken, rules) => {
    const failed: string[] = []
    for (const { name, run } of contentRules) {
      const right = memoryContent()
      await run({ ...right, ...broken(right) }).catch(() => failed.push(name))
    }
    for (const rule of rules) {
      const isFound = failed.some(name => rule.test(name))
      expect(isFound, `${rule} in ${failed.join('; ')}`).toBe(true)
    }
  })
})
