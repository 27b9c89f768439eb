import { describe, expect, test, vi } from 'vitest'
import type { NewAuditEntry } from '../../../src/catalogue/index.ts'
import { AuditLog } from '../../../src/features/audit/audit-log.ts'
import type { AuditedAction } from '../../../src/http/audited-request.ts'
import { HoldfastError } from '../../../src/index.ts'
import { ManualClock } from '../../support/manual-clock.ts'

const OWNER = { id: 'boss', role: 'owner' as const }
const USER = { id: 'user', role: 'user' as const }
const KEY = { kind: 'key' as const, id: 'k1' }
const HOUR = 3_600_000

function action(more: Partial<AuditedAction> = {}): AuditedAction {
  const base = { action: 'key.create' as const, outcome: 'ok', account: USER, credential: KEY }
  return { ...base, address: '192.0.2.1', subject: 'made', ...more }
}

function failedSignIn(more: Partial<AuditedAction> = {}): AuditedAction {
  const base = { action: 'sign-in' as const, outcome: 'INVALID_API_KEY', account: null, credential: null }
  return { ...base, address: '192.0.2.1', subject: null, ...more }
}

function logOf() {
  const clock = new ManualClock()
  const added: NewAuditEntry[][] = []
  const add = vi.fn(async (entries: readonly NewAuditEntry[]): Promise<void> => void added.push([...entries]))
  const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() }
  const store = { add, list: vi.fn(async () => ({ rows: [], next: null })) }
  const log = new AuditLog({ store, clock, logger, retention: { keepDays: 2, maxEntries: 500 } })
  return { clock, added, add, logger, store, log }
}

describe('the audit log', () => {
  test('has the entry of an account durable before the answer', async () => {
    const { log, add, clock } = logOf()
    await log.record(action({ account: OWNER }))
    const at = clock.now()
    const entry = { actor: 'owner', accountId: 'boss', credential: 'key', credentialId: 'k1', address: '192.0.2.1' }
    const rest = { action: 'key.create', outcome: 'ok', subject: 'made', times: 1, createdAt: at, lastAt: at }
    const stored = { ...entry, ...rest, key: expect.any(String), more: 0 }
    expect(add.mock.calls).toEqual([[[stored], { oldest: at - 48 * HOUR, mostEntries: 500 }, true]])
    expect(clock.waiting).toBe(0)
  })

  test('counts failures of strangers in one entry per hour, address and account', async () => {
    const { log, added, clock } = logOf()
    for (let i = 0; i < 500; i++) await log.record(failedSignIn())
    await log.record(failedSignIn({ account: OWNER }))
    await log.record(failedSignIn({ address: '2001:db8::1' }))
    await log.record(failedSignIn({ address: '2001:db8::2' }))
    await log.stop()
    clock.advance(HOUR)
    const shown = added
      .flat()
      .map(({ actor, address, accountId, times, more }) => [actor, address, accountId, times, more])
    expect(shown).toEqual([
      ['stranger', '192.0.2.1', null, 500, 500],
      ['stranger', '192.0.2.1', 'boss', 1, 1],
      ['stranger', '2001:db8:0:0::/64', null, 2, 2],
    ])
    expect(new Set(added.flat().map(({ key }) => key)).size).toBe(3)
  })

  test('bounds the entries of strangers with many addresses', async () => {
    const { log, added, clock } = logOf()
    for (let i = 0; i < 3_000; i++) await log.record(failedSignIn({ address: `10.0.${i >> 8}.${i & 255}` }))
    clock.advance(5_000)
    await log.stop()
    expect(added.flat()).toHaveLength(1_001)
    expect(added.flat().reduce((sum, { times }) => sum + times, 0)).toBe(3_000)
    expect(added.flat().at(-1)).toMatchObject({ address: null, times: 2_000 })
    expect(Math.max(...added.map(rows => rows.length))).toBe(100)
  })

  test('bounds the entries of one account, but not of an owner', async () => {
    const { log, added } = logOf()
    for (let i = 0; i < 300; i++) await log.record(action({ subject: `${i}` }))
    for (let i = 0; i < 300; i++) await log.record(action({ account: OWNER }))
    await log.stop()
    const keys = (actor: string): number =>
      new Set(added.flat().flatMap(row => (row.actor === actor ? row.key : []))).size
    expect([keys('account'), keys('owner')]).toEqual([101, 300])
    const shared = added.flat().filter(({ more }) => more > 0)
    expect(shared.reduce((sum, { times }) => sum + times, 0)).toBe(200)
    expect(shared[0]).toMatchObject({ accountId: 'user', address: null, credentialId: null, subject: null })
  })

  test('starts new entries in the next hour', async () => {
    const { log, added, clock } = logOf()
    for (let i = 0; i < 101; i++) await log.record(action())
    await log.record(failedSignIn())
    clock.advance(HOUR)
    await log.record(action())
    await log.record(failedSignIn())
    await log.stop()
    expect(added.flat().filter(({ more, actor }) => actor === 'account' && more === 0)).toHaveLength(101)
    expect(new Set(added.flat().flatMap(row => (row.actor === 'stranger' ? row.key : []))).size).toBe(2)
  })

  test('lets no one who only names an account write its entries', async () => {
    const { log, added } = logOf()
    await log.record(failedSignIn({ account: OWNER, outcome: '2fa_required' }))
    await log.record(failedSignIn({ account: OWNER, outcome: 'ok', action: 'sign-in.code' }))
    await log.stop()
    expect(added.flat().map(({ actor, outcome }) => [actor, outcome])).toEqual([
      ['stranger', '2fa_required'],
      ['owner', 'ok'],
    ])
  })

  test('limits the length of what a client can name', async () => {
    const { log, added } = logOf()
    await log.record(action({ subject: `${'x'.repeat(199)}😀${'y'.repeat(9_000)}` }))
    expect(added.flat()[0]?.subject).toBe(`${'x'.repeat(199)}\ufffd`)
  })

  test('fails no action, and writes its entry later', async () => {
    const { log, added, add, logger, clock } = logOf()
    add.mockRejectedValueOnce(new HoldfastError('OUTCOME_UNKNOWN', 'perhaps'))
    await log.record(action())
    expect(logger.error).toHaveBeenCalledTimes(1)
    expect(logger.error.mock.calls[0]?.[0].unwritten).toMatchObject([{ accountId: 'user', action: 'key.create' }])
    await log.record(failedSignIn())
    clock.advance(5_000)
    await expect.poll(() => added.flat()).toHaveLength(2)
    // The database may have the first entry already, so its key tells both apart.
    expect(added.flat()[0]).toMatchObject({ accountId: 'user', more: 0 })
    expect(added.flat()[0]?.key).toBe(add.mock.calls[0]?.[0][0]?.key)
  })

  test('counts nothing twice after a write with an unknown outcome', async () => {
    const { log, added, add, clock } = logOf()
    add.mockRejectedValueOnce(new HoldfastError('OUTCOME_UNKNOWN', 'perhaps'))
    await log.record(failedSignIn())
    clock.advance(5_000)
    await expect.poll(() => add).toHaveBeenCalledTimes(1)
    await log.stop()
    expect(added).toEqual([])
  })

  test('delays an answer by two seconds at most', async () => {
    const { log, add, clock } = logOf()
    add.mockReturnValueOnce(new Promise(() => undefined))
    const recorded = log.record(action())
    clock.advance(2_000)
    await recorded
  })

  test('has a limited number of waiting entries, and logs what it loses', async () => {
    const { log, add, logger, clock } = logOf()
    add.mockRejectedValue(new HoldfastError('UNAVAILABLE', 'not now'))
    for (let i = 0; i < 2_100; i++) await log.record(action({ account: OWNER }))
    const lost = logger.error.mock.calls.filter(([fields]) => 'lost' in fields)
    expect(lost).toHaveLength(100)
    expect(lost[0]?.[0].lost).toMatchObject({ accountId: 'boss', action: 'key.create' })
    add.mockReset()
    clock.advance(5_000)
    await log.stop()
    expect(add.mock.calls.reduce((sum, [entries]) => sum + entries.length, 0)).toBe(2_000)
  })

  test('deletes old entries every hour, until it stops', async () => {
    const { log, add, clock } = logOf()
    log.start()
    for (const times of [1, 2]) {
      clock.advance(HOUR)
      await expect.poll(() => add).toHaveBeenCalledTimes(times)
    }
    expect(add).toHaveBeenLastCalledWith([], { oldest: clock.now() - 48 * HOUR, mostEntries: 500 }, false)
    await log.stop()
    clock.advance(2 * HOUR)
    expect([add.mock.calls.length, clock.waiting]).toEqual([2, 0])
  })

  test('never lists entries beyond the retention', async () => {
    const { log, store, clock } = logOf()
    await log.list({ from: 0, until: 9 }, { after: null, limit: 1 })
    expect(store.list).toHaveBeenCalledWith({ from: clock.now() - 48 * HOUR, until: 9 }, { after: null, limit: 1 })
  })
})
