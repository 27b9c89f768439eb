import { describe, expect, test } from 'vitest'
import { silentLogger } from '../../src/domain/logger.ts'
import { HoldfastError, SCOPES } from '../../src/index.ts'
import { AccountRemoval } from '../../src/pins/removal/account-removal.ts'
import { openAccounts } from '../../src/wiring/open-accounts.ts'
import { memoryAccess } from '../catalogue/memory-access.ts'
import { callApi } from '../support/api-call.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { eventually } from '../support/content-parts.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { PLAIN_ACCOUNT } from '../support/plain-account.ts'
import { EMPTY, storeSizes, withDatabase } from '../support/store-inspection.ts'
import { withEngine } from '../support/test-engine.ts'
import { failure } from './support.ts'

const isForgotten = (dataDir: string, id: string): boolean =>
  withDatabase(dataDir, db => db.prepare<[string]>('SELECT 1 FROM accounts WHERE id = ?').get(id)) === undefined

const NO_PERIODS = { endPeriods: async () => [] }

describe('a deleted account', () => {
  test('is unusable and leaves nothing; shared content of other accounts remains', () =>
    withEngine(async ({ engine, dataDir, account, newAccount }) => {
      const id = await newAccount()
      const { email } = await engine.accounts.get(id)
      const { secret } = await engine.keys.create(id, { name: 'k', scopes: SCOPES })
      const own = await engine.pins.upload(pseudoRandom(50_000, 'own'), { account: id })
      for (let i = 0; i < 120; i++) await engine.pins.upload(pseudoRandom(50, `${i}`), { account: id })
      const shared = await engine.pins.upload(pseudoRandom(1_000, 'shared'), { account: id })
      await engine.pins.upload(pseudoRandom(1_000, 'shared'), { account })

      const me = () => callApi(engine, 'GET', '/users/me', { authorization: `Bearer ${secret}` })
      expect((await me()).status).toBe(200)
      await engine.accounts.delete(id)
      const refused = await me()
      expect([refused.status, refused.json.code]).toEqual([401, 'INVALID_API_KEY'])
      expect((await failure(() => engine.accounts.get(id))).code).toBe('NOT_FOUND')
      expect((await failure(() => engine.pins.upload(pseudoRandom(5, 'late'), { account: id }))).code).toBe('NOT_FOUND')
      expect((await failure(() => engine.keys.create(id, { name: 'late' }))).code).toBe('NOT_FOUND')
      expect((await failure(() => engine.accounts.delete(id))).code).toBe('NOT_FOUND')
      expect((await engine.accounts.create({ email, plan: 'free' })).id).not.toBe(id)

      await eventually(() => isForgotten(dataDir, id))
      expect((await engine.pins.list({ account })).items.map(({ cid }) => cid)).toEqual([shared.record.cid])
      await engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(dataDir)).toMatchObject({ records: 1, roots: 1, blocks: 1 })
      expect(own.record.cid).not.toBe(shared.record.cid)
      const rows = withDatabase(dataDir, db =>
        db.prepare<[string]>('SELECT 1 FROM api_keys WHERE account_id = ?').all(id),
      )
      expect(rows).toEqual([])
    }))

  test('gets no content from an upload in progress', () =>
    withEngine(async ({ engine, dataDir, newAccount }) => {
      const id = await newAccount()
      async function* slowly() {
        yield pseudoRandom(100_000, 'first half')
        await engine.accounts.delete(id)
        await eventually(() => isForgotten(dataDir, id))
        yield pseudoRandom(100_000, 'second half')
      }
      expect((await failure(() => engine.pins.upload(slowly(), { account: id }))).code).toBe('NOT_FOUND')
      await engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(dataDir)).toEqual(EMPTY)
    }))

  test('is removed at the next start if a command deleted it', () =>
    withEngine(async test => {
      for (let i = 0; i < 60; i++) await test.engine.pins.upload(pseudoRandom(50, `${i}`), { account: test.account })
      await test.engine.stop()
      const handle = openAccounts({ dataDir: test.dataDir, clock: test.clock })
      await handle.accounts.delete(test.account)
      handle.close()
      const engine = await test.restart()
      await eventually(() => isForgotten(test.dataDir, test.account))
      await engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
    }))

  test('is removed within a minute if a command deleted it', () =>
    withEngine(async ({ engine, dataDir, clock, account }) => {
      await engine.pins.upload(pseudoRandom(50, 'x'), { account })
      const handle = openAccounts({ dataDir, clock })
      await handle.accounts.delete(account)
      handle.close()
      expect(isForgotten(dataDir, account)).toBe(false)
      await eventually(() => clock.waiting > 0)
      clock.advance(60_000)
      await eventually(() => isForgotten(dataDir, account))
    }))
})

describe('the removal of an account', () => {
  /** Returns a deleted account with 120 keys and 120 pins, and a removal whose step number `fault` fails. */
  async function marked() {
    const { accounts, keys } = memoryAccess()
    const rest = { ...PLAIN_ACCOUNT, plan: 'free', createdAt: 1 }
    await accounts.insert({ id: 'a', email: 'a@example.org', ...rest }, null)
    for (let i = 0; i < 120; i++) {
      const key = { id: `k${i}`, accountId: 'a', parentId: null, name: `k${i}`, label: null, prefix: '', scopes: [] }
      const times = { createdAt: i, expiresAt: null, lastUsedAt: null, upload: null }
      await keys.insert({ ...key, ...times, ipAllowlist: [], hash: Buffer.from(`k${i}`) }, { now: 1, maxKeys: null })
    }
    await accounts.markDeleted('a', 1)
    const pinned = new Set(Array.from({ length: 120 }, (_, i) => `cid${i}`))
    let steps = 0
    const clock = new ManualClock()
    const removal = (fault: number) => {
      const step = (): void => {
        steps++
        if (steps === fault) throw new HoldfastError('STORAGE_FULL', 'a fault of the test')
      }
      const afterStep = async <T>(work: () => T | Promise<T>): Promise<T> => {
        step()
        return work()
      }
      return new AccountRemoval({
        bulk: NO_PERIODS,
        accounts: {
          deleted: limit => afterStep(() => accounts.deleted(limit)),
          purge: (id, limit) => afterStep(() => accounts.purge(id, limit)),
          forget: id => afterStep(() => (pinned.size === 0 ? accounts.forget(id) : false)),
        },
        pins: {
          clear: async () => {
            const some = [...pinned].slice(0, 3)
            for (const cid of some) await afterStep(() => pinned.delete(cid))
            return some.length > 0
          },
        },
        clock,
        logger: silentLogger,
      })
    }
    return { accounts, pinned, clock, removal, steps: () => steps }
  }

  test('resumes after a failure at any step', async () => {
    const whole = await marked()
    const undisturbed = whole.removal(0)
    undisturbed.wake()
    await undisturbed.settled()
    expect(await whole.accounts.deleted(10)).toEqual([])
    expect(whole.steps()).toBeGreaterThan(120)
    for (const fault of [1, 2, 3, 4, 5, 30, 60, 100, whole.steps() - 1, whole.steps()]) {
      const { accounts, pinned, removal } = await marked()
      const broken = removal(fault)
      broken.wake()
      await broken.settled()
      await broken.stop()
      expect(await accounts.deleted(10)).toEqual(['a'])
      const next = removal(0)
      next.wake()
      await next.settled()
      expect([await accounts.deleted(10), pinned.size]).toEqual([[], 0])
    }
  })

  test('stops between two steps', async () => {
    const { accounts, removal, steps } = await marked()
    const stopped = removal(0)
    stopped.wake()
    await stopped.stop()
    expect(steps()).toBeLessThan(5)
    expect(await accounts.deleted(10)).toEqual(['a'])
  })

  test('does nothing if woken after a stop', async () => {
    const { clock, removal, steps } = await marked()
    const stopped = removal(0)
    await stopped.stop()
    stopped.wake()
    await stopped.settled()
    expect([steps(), clock.waiting]).toEqual([0, 0])
  })

  /** Returns a removal of two accounts, of which `clear` removes pins. The second is not marked yet. */
  async function ofTwo(clear: (id: string) => Promise<boolean>) {
    const { accounts } = memoryAccess()
    const rest = { ...PLAIN_ACCOUNT, plan: 'free' }
    for (const id of ['a', 'b']) await accounts.insert({ id, email: `${id}@example.org`, createdAt: 1, ...rest }, null)
    await accounts.markDeleted('a', 1)
    const clock = new ManualClock()
    return {
      accounts,
      clock,
      removal: new AccountRemoval({ accounts, bulk: NO_PERIODS, pins: { clear }, clock, logger: silentLogger }),
    }
  }

  test('takes turns with an account that is deleted meanwhile', async () => {
    const cleared: string[] = []
    const { accounts, removal } = await ofTwo(async id => {
      cleared.push(id)
      if (cleared.length === 3) {
        await accounts.markDeleted('b', 2)
        removal.wake()
      }
      return id === 'a' && cleared.length < 100
    })
    removal.wake()
    await removal.settled()
    expect(cleared.indexOf('b')).toBe(4)
    expect(await accounts.deleted(10)).toEqual([])
  })

  test('continues with other accounts after a failure, and repeats it later', async () => {
    let failures = 0
    const { accounts, clock, removal } = await ofTwo(async id => {
      if (id === 'a' && failures++ === 0) throw new HoldfastError('STORAGE_FULL', 'a fault of the test')
      return false
    })
    await accounts.markDeleted('b', 2)
    removal.wake()
    await removal.settled()
    expect([await accounts.deleted(10), failures]).toEqual([['a'], 1])
    clock.advance(60_000)
    await removal.settled()
    expect(await accounts.deleted(10)).toEqual([])
  })
})
