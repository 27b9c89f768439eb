import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { HoldfastError } from '../../src/domain/errors.ts'
import { CataloguePastTable } from '../../src/ledger/catalogue-past.ts'
import { Checkpoints } from '../../src/storage/checkpoints.ts'
import { Database } from '../../src/storage/database.ts'
import { LogSync } from '../../src/storage/log-sync.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { turns } from '../support/content-parts.ts'
import { newDatabase } from '../support/new-database.ts'
import { withTempDir } from '../support/temp-dir.ts'

/** Counts the outermost transactions, and may make one of them fail as a full disk does. */
class CountingDatabase extends Database {
  commits = 0
  savepoints = 0
  failures = 0
  /** Error of the next commit. */
  failure: Error = new Error('database or disk is full')
  readonly durable: boolean[] = []

  override transaction<T>(work: () => T): T {
    if (this.inTransaction) {
      this.savepoints++
      return super.transaction(work)
    }
    this.commits++
    if (this.failures > 0) {
      this.failures--
      return super.transaction(() => {
        work()
        throw this.failure
      })
    }
    return super.transaction(work)
  }

  override setDurable(durable: boolean): void {
    this.durable.push(durable)
    super.setDurable(durable)
  }
}

/** A clock by which no batch ends early, however busy the machine is. */
const still = (): number => 0

async function withQueue(run: (queue: WriteQueue, db: CountingDatabase) => Promise<void>): Promise<void> {
  await withTempDir(async dir => {
    const db = newDatabase(dir, CountingDatabase)
    try {
      db.transaction(() => db.prepare('CREATE TABLE kept (id INTEGER PRIMARY KEY)').run())
      db.commits = 0
      await run(new WriteQueue(db, { now: still }), db)
    } finally {
      db.close()
    }
  })
}

function keep(db: Database, id: number): number {
  db.prepare<[number]>('INSERT INTO kept VALUES (?)').run(id)
  return id
}

function kept(db: Database): number[] {
  return db
    .prepare<[], { id: number }>('SELECT id FROM kept ORDER BY id')
    .all()
    .map(row => row.id)
}

describe('write queue', () => {
  test('writes that arrive together share one transaction, answered after its commit', async () => {
    await withQueue(async (queue, db) => {
      const answers = await Promise.all([1, 2, 3, 4].map(id => queue.run(() => keep(db, id), { durable: id === 3 })))
      expect(answers).toEqual([1, 2, 3, 4])
      expect(db.commits).toBe(1)
      expect(db.durable).toEqual([true])
      await queue.run(() => keep(db, 5), { durable: false })
      expect(db.durable).toEqual([true, false])
      expect(db.inTransaction).toBe(false)
    })
  })

  test('a note that waits for the disk makes no later commit wait', async () => {
    await withQueue(async (_, db) => {
      db.setDurable(false)
      new CataloguePastTable(db).follow(true)
      expect(db.durable).toEqual([false, true, false])
    })
  })

  test('a batch uses savepoints only after one of its writes throws', async () => {
    await withQueue(async (queue, db) => {
      await Promise.all([1, 2, 3].map(id => queue.run(() => keep(db, id), { durable: false })))
      expect([db.commits, db.savepoints]).toEqual([1, 0])
      const refused = queue.run(() => keep(db, 3), { durable: false })
      await Promise.all([queue.run(() => keep(db, 4), { durable: false }), expect(refused).rejects.toThrow('UNIQUE')])
      expect(db.savepoints).toBe(2)
      expect(kept(db)).toEqual([1, 2, 3, 4])
    })
  })

  test('a write that throws undoes only itself', async () => {
    await withQueue(async (queue, db) => {
      const plan = fc.array(fc.record({ rows: fc.integer({ min: 1, max: 3 }), fails: fc.boolean() }), { maxLength: 12 })
      let next = 0
      const expected: number[] = []
      await fc.assert(
        fc.asyncProperty(plan, async writes => {
          const outcomes = writes.map(({ rows, fails }) => {
            const ids = Array.from({ length: rows }, () => next++)
            if (!fails) expected.push(...ids)
            const work = (): void => {
              for (const id of ids) keep(db, id)
              if (fails) throw new Error(`write of ${ids} fails`)
            }
            const run = queue.run(work, { durable: fails })
            return fails ? expect(run).rejects.toThrow(`write of ${ids} fails`) : run
          })
          await Promise.all(outcomes)
          expect(kept(db)).toEqual(expected)
        }),
        { numRuns: 30 },
      )
    })
  })

  test('a repeated batch has the same writes, and leaves later ones waiting', async () => {
    let now = 0
    await withQueue(async (_, db) => {
      const queue = new WriteQueue(db, { now: () => now })
      const calls: number[] = []
      const write = (id: number, { isLong = false, fails = false } = {}) => {
        const work = (): number => {
          calls.push(id)
          // Longer than the limit of a batch, but only in the second attempt.
          if (isLong && calls.filter(call => call === id).length === 2) now += 5
          if (fails) throw new Error(`write of ${id} fails`)
          return keep(db, id)
        }
        return queue.run(work, { durable: false })
      }
      const told: number[] = []
      const writes = [write(1), write(2, { isLong: true }), write(3, { fails: true }), write(4)]
      for (const [i, run] of writes.entries()) void run.catch(() => undefined).then(() => told.push(i + 1))
      await Promise.all(writes.slice(0, 2))
      expect([calls, kept(db), told]).toEqual([
        [1, 2, 3, 1, 2],
        [1, 2],
        [1, 2],
      ])
      await queue.settled()
      expect(calls.slice(5)).toEqual([3, 3, 4])
      expect(kept(db)).toEqual([1, 2, 4])
      const outcomes = await Promise.allSettled(writes)
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
    })
  })

  test('a failed transaction rejects its whole batch, and the next one runs', async () => {
    await withQueue(async (queue, db) => {
      db.failures = 1
      const outcomes = await Promise.allSettled([1, 2, 3].map(id => queue.run(() => keep(db, id), { durable: true })))
      expect(outcomes.map(outcome => outcome.status)).toEqual(['rejected', 'rejected', 'rejected'])
      expect(kept(db)).toEqual([])
      await queue.run(() => keep(db, 4), { durable: true })
      expect(kept(db)).toEqual([4])
    })
  })

  test.each([0, 1, 2])('a full disk: %i of two ways to make room help', async helping => {
    await withQueue(async (_, db) => {
      const asked: string[] = []
      db.failure = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
      db.failures = helping === 0 ? 3 : helping
      const makeRoom = [
        () => asked.push('first') > 0,
        async () => {
          await new Promise(resolve => setImmediate(resolve))
          return asked.push('second') > 0
        },
      ]
      const queue = new WriteQueue(db, { now: still, makeRoom })
      const writes = [1, 2].map(id => queue.run(() => keep(db, id), { durable: true }))
      const outcomes = await Promise.allSettled(writes)
      expect(asked).toEqual(helping === 1 ? ['first'] : ['first', 'second'])
      expect(outcomes.map(({ status }) => status)).toEqual(Array(2).fill(helping === 0 ? 'rejected' : 'fulfilled'))
      expect(kept(db)).toEqual(helping === 0 ? [] : [1, 2])
      expect(queue.isBroken).toBe(false)
      await queue.run(() => keep(db, 3), { durable: true })
      expect(kept(db)).toContain(3)
    })
  })

  test('writes during a search for room keep their order', async () => {
    await withQueue(async (_, db) => {
      db.failure = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
      db.failures = 1
      const later: Promise<unknown>[] = []
      const makeRoom = [
        async () => {
          later.push(queue.run(() => keep(db, 2), { durable: true }))
          await new Promise(resolve => setImmediate(resolve))
          return true
        },
      ]
      const queue: WriteQueue = new WriteQueue(db, { now: still, makeRoom })
      await queue.run(() => keep(db, 1), { durable: true })
      await Promise.all(later)
      expect(kept(db)).toEqual([1, 2])
    })
  })

  test('after a failed commit nothing more is written or acknowledged', async () => {
    await withQueue(async (_, db) => {
      const told: unknown[] = []
      const queue = new WriteQueue(db, { now: still, onBroken: error => told.push(error) })
      db.failure = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' })
      db.failures = 1
      const unknown = { code: 'OUTCOME_UNKNOWN', cause: db.failure }
      await expect(queue.run(() => keep(db, 1), { durable: true })).rejects.toMatchObject(unknown)
      const commits = db.commits
      const refused = { code: 'UNAVAILABLE', message: expect.stringContaining('restart the node') }
      for (const durable of [true, false]) {
        await expect(queue.run(() => keep(db, 2), { durable })).rejects.toMatchObject(refused)
      }
      await queue.settled()
      expect(db.commits).toBe(commits)
      expect(kept(db)).toEqual([])
      expect(told).toEqual([db.failure])
      expect(queue.isBroken).toBe(true)
    })
  })

  test('a write that fails before the commit keeps its error', async () => {
    await withQueue(async (queue, db) => {
      const failure = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_READ' })
      const work = (): never => {
        // As SQLite does after a fatal error.
        db.prepare('ROLLBACK').run()
        throw failure
      }
      await expect(queue.run(work, { durable: true })).rejects.toBe(failure)
      await expect(queue.run(() => keep(db, 2), { durable: true })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      expect(kept(db)).toEqual([])
    })
  })

  test('a sync does not block the loop; later writes share a commit', async () => {
    await withQueue(async (_, db) => {
      const log: string[] = []
      const ends: Array<() => void> = []
      const logSync = {
        run: () => {
          log.push(`sync of ${kept(db)}`)
          return new Promise<void>(resolve => ends.push(resolve))
        },
      }
      const queue = new WriteQueue(db, { now: still, logSync })
      const write = async (id: number, durable: boolean): Promise<void> => {
        await queue.run(() => keep(db, id), { durable, committed: () => log.push(`${id} can be read`) })
        log.push(`${id} is answered`)
      }
      const first = [write(1, false), write(2, true)]
      await turns(3)
      const later = [write(3, true), write(4, false), write(5, true)]
      await turns(3)
      expect(log).toEqual(['1 can be read', '2 can be read', 'sync of 1,2'])
      expect(db.commits).toBe(1)
      ends.shift()?.()
      await Promise.all(first)
      await turns(3)
      expect(log.slice(3)).toEqual([
        ...['1 is answered', '2 is answered'],
        ...['3 can be read', '4 can be read', '5 can be read', 'sync of 1,2,3,4,5'],
      ])
      let isSettled = false
      const settled = queue.settled().then(() => {
        isSettled = true
      })
      await turns(3)
      expect(isSettled).toBe(false)
      ends.shift()?.()
      await Promise.all([...later, settled])
      expect(db.commits).toBe(2)
      expect(db.durable).toEqual([false])
      await write(6, false)
      expect(log.at(-1)).toBe('6 is answered')
      expect(ends).toEqual([])
    })
  })

  /** Returns a queue whose syncs end on request, and a log of events. */
  function held(db: CountingDatabase) {
    const log: string[] = []
    const syncs: Array<PromiseWithResolvers<void>> = []
    const run = (): Promise<void> => {
      log.push(`sync of ${kept(db)}`)
      syncs.push(Promise.withResolvers())
      return (syncs.at(-1) as PromiseWithResolvers<void>).promise
    }
    const queue = new WriteQueue(db, { now: still, logSync: { run } })
    const write = async (id: number, patient: boolean, durable = true): Promise<void> => {
      await queue
        .run(() => keep(db, id), { durable, patient })
        .then(
          () => log.push(`${id} is answered`),
          (error: HoldfastError) => log.push(`${id} is ${error.code}`),
        )
    }
    return { log, syncs, queue, write }
  }

  test('patient writes give way to others once, then come next', async () => {
    await withQueue(async (_, db) => {
      const { log, syncs, queue, write } = held(db)
      const writes = [write(1, true)]
      await turns(2)
      writes.push(write(2, true), write(3, false), write(4, true))
      await turns(2)
      expect(log).toEqual(['sync of 1', 'sync of 1,3'])
      writes.push(write(5, false))
      await turns(2)
      syncs[1]?.resolve()
      await turns(2)
      // A second one would also go first, but waits: two concurrent syncs are enough.
      expect(log.slice(2)).toEqual(['3 is answered'])
      syncs[0]?.resolve()
      await turns(2)
      expect(log.slice(3)).toEqual(['1 is answered', 'sync of 1,2,3,4,5'])
      writes.push(write(6, false))
      await turns(2)
      // This sync also has writes that are not patient.
      expect(log.length).toBe(5)
      syncs[2]?.resolve()
      await turns(2)
      syncs[3]?.resolve()
      await Promise.all([...writes, queue.settled()])
      expect(log.slice(5)).toEqual([
        '2 is answered',
        '4 is answered',
        '5 is answered',
        'sync of 1,2,3,4,5,6',
        '6 is answered',
      ])
    })
  })

  test('writes without a sync overtake patient ones every time', async () => {
    await withQueue(async (_, db) => {
      const { log, syncs, write } = held(db)
      const writes = [write(1, true)]
      await turns(2)
      for (const id of [2, 3]) await write(id, false, false)
      expect(log).toEqual(['sync of 1', '2 is answered', '3 is answered'])
      syncs[0]?.resolve()
      await Promise.all(writes)
    })
  })

  test('one failed sync of two leaves nothing acknowledged', async () => {
    await withQueue(async (_, db) => {
      const { log, syncs, queue, write } = held(db)
      const writes = [write(1, true)]
      await turns(2)
      writes.push(write(2, false), write(3, true))
      await turns(2)
      // Committed writes are in doubt, waiting ones are not.
      syncs[0]?.reject(Object.assign(new Error('i/o error'), { code: 'EIO' }))
      await turns(2)
      syncs[1]?.resolve()
      await Promise.all([...writes, queue.settled()])
      expect(log.slice(2).sort()).toEqual(['1 is OUTCOME_UNKNOWN', '2 is OUTCOME_UNKNOWN', '3 is UNAVAILABLE'])
      expect(queue.isBroken).toBe(true)
    })
  })

  test('after a failed sync nothing is acknowledged or written', async () => {
    await withQueue(async (_, db) => {
      const failure = Object.assign(new Error('i/o error'), { code: 'EIO' })
      const told: unknown[] = []
      const queue = new WriteQueue(db, {
        now: still,
        logSync: { run: () => Promise.reject(failure) },
        onBroken: e => told.push(e),
      })
      const ids = [1, 2, 2]
      const outcomes = Promise.allSettled(ids.map((id, i) => queue.run(() => keep(db, id), { durable: i === 1 })))
      await turns(1)
      const later = await Promise.allSettled([queue.run(() => keep(db, 3), { durable: false })])
      const unknown = { status: 'rejected', reason: { code: 'OUTCOME_UNKNOWN', cause: failure } }
      // The last one threw, so the log has nothing of it.
      expect(await outcomes).toMatchObject([unknown, unknown, { status: 'rejected', reason: { code: 'UNAVAILABLE' } }])
      expect(later).toMatchObject([{ status: 'rejected', reason: { code: 'UNAVAILABLE' } }])
      await queue.settled()
      expect(kept(db)).toEqual([1, 2])
      expect(told).toEqual([failure])
      expect(queue.isBroken).toBe(true)
    })
  })

  test('the synced log belongs to the database', async () => {
    await withTempDir(async dir => {
      const db = new Database(join(dir, 'holdfast.db'))
      const logSync = new LogSync(join(dir, 'holdfast.db'))
      try {
        await logSync.run()
        await Promise.all([logSync.run(), logSync.run()])
      } finally {
        await logSync.close()
        db.close()
      }
      await expect(new LogSync(join(dir, 'other.db')).run()).rejects.toMatchObject({ code: 'ENOENT' })
    })
  })

  test('writes run in order, those queued by a write after it', async () => {
    await withQueue(async (queue, db) => {
      const order: string[] = []
      let inner: Promise<unknown> | null = null
      const first = queue.run(
        () => {
          order.push('first')
          inner = queue.run(() => order.push('inner'), { durable: false })
        },
        { durable: false },
      )
      const second = queue.run(() => order.push('second'), { durable: false })
      await Promise.all([first, second])
      await inner
      expect(order).toEqual(['first', 'second', 'inner'])
      await queue.settled()
      expect(db.inTransaction).toBe(false)
    })
  })

  test('settles when all queued writes are committed', async () => {
    await withQueue(async (queue, db) => {
      for (let id = 0; id < 5; id++) void queue.run(() => keep(db, id), { durable: false })
      await queue.settled()
      expect(kept(db)).toEqual([0, 1, 2, 3, 4])
    })
  })

  test('a grown log moves during writes, which wait once it is long', async () => {
    await withTempDir(async dir => {
      const file = join(dir, 'holdfast.db')
      const db = new Database(file)
      const thread = new Checkpoints(file)
      const held = Promise.withResolvers<void>()
      let runs = 0
      const checkpoints = { run: () => held.promise.then(() => thread.run()).finally(() => runs++) }
      // Each look at the clock takes a millisecond, so the speed of the machine does not decide how long a batch is.
      let ms = 0
      const queue = new WriteQueue(db, { checkpoints, now: () => ms++ })
      try {
        db.prepare('CREATE TABLE large (bytes BLOB)').run()
        let written = 0
        const write = async (): Promise<void> => {
          // A hundred pages.
          await queue.run(() => db.prepare('INSERT INTO large VALUES (zeroblob(400000))').run(), { durable: false })
          written++
        }
        for (let turn = 0; turn < 50; turn++) await write()
        // Nothing has been moved yet, not by commits either.
        expect(db.logPages()).toEqual({ pages: expect.any(Number), moved: 0 })
        expect(db.logPages().pages).toBeGreaterThan(4_000)
        const rest = Promise.all(Array.from({ length: 60 }, write))
        // The queue commits a batch in each turn of the loop, until it waits.
        for (let seen = 0; seen !== written; await turns(2)) seen = written
        expect(written).toBeLessThan(110)
        expect(db.logPages().pages).toBeLessThan(10_000)
        held.resolve()
        await rest
        await queue.settled()
        expect(runs).toBeGreaterThan(1)
        // SQLite has restarted the log.
        expect(db.logPages().pages).toBeLessThan(10_000)
      } finally {
        held.resolve()
        await thread.stop()
        db.close()
      }
    })
  })

  test('after a failed checkpoint nothing more is written', async () => {
    await withTempDir(async dir => {
      const db = new Database(join(dir, 'holdfast.db'))
      const failure = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' })
      const queue = new WriteQueue(db, { now: still, checkpoints: { run: () => Promise.reject(failure) } })
      try {
        db.prepare('CREATE TABLE large (bytes BLOB)').run()
        await queue.run(() => db.prepare('INSERT INTO large VALUES (zeroblob(8000000))').run(), { durable: false })
        await queue.settled()
        expect(queue.isBroken).toBe(true)
        await expect(queue.run(() => 1, { durable: false })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      } finally {
        db.close()
      }
    })
  })
})
