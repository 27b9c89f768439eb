import { expect, test } from 'vitest'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { Logger } from '../../src/domain/logger.ts'
import { RecentFailures } from '../../src/upkeep/recent-failures.ts'
import { ManualClock } from '../support/manual-clock.ts'

/** Returns a logger that records its lines. */
function recorded(lines: string[]): Logger {
  const write = (level: string) => (_: object, message: string) => void lines.push(`${level} ${message}`)
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

test('warnings and errors are recorded and logged; other lines only logged', () => {
  const lines: string[] = []
  const clock = new ManualClock()
  const failures = new RecentFailures(clock)
  const logger = failures.noting(recorded(lines))
  logger.debug({}, 'a')
  logger.info({}, 'b')
  logger.warn({ cid: 'bafy', reason: 'nobody has it' }, 'c')
  clock.advance(5)
  logger.error({ err: new HoldfastError('STORAGE_FULL', 'the disk is full') }, 'd')
  expect(lines).toEqual(['debug a', 'info b', 'warn c', 'error d'])
  expect(failures.all).toEqual([
    { at: clock.now(), level: 'error', message: 'd', about: { error: 'STORAGE_FULL: the disk is full' } },
    { at: clock.now() - 5, level: 'warn', message: 'c', about: { cid: 'bafy', reason: 'nobody has it' } },
  ])
})

test('records no secret, address or path of a request', () => {
  const failures = new RecentFailures(new ManualClock())
  const secret = 'hf_secret'
  const system = Object.assign(new Error(`cannot open /home/${secret}`), { code: 'EACCES' })
  failures.noting(recorded([])).error(
    {
      requestId: 'r',
      route: '/files',
      path: `/files/${secret}`,
      client: secret,
      account: secret,
      key: secret,
      err: system,
    },
    'request failed',
  )
  expect(failures.all[0]?.about).toEqual({ requestId: 'r', route: '/files', error: 'Error EACCES' })
  expect(JSON.stringify(failures.all)).not.toContain(secret)
})

test('keeps the last two hundred, each of limited length', () => {
  const failures = new RecentFailures(new ManualClock())
  const logger = failures.noting(recorded([]))
  for (let line = 0; line < 1_000; line += 1) logger.warn({ reason: 'x'.repeat(100_000) }, `line ${line}`)
  expect([failures.all.length, failures.all[0]?.message, failures.all.at(-1)?.message]).toEqual([
    200,
    'line 999',
    'line 800',
  ])
  expect(JSON.stringify(failures.all).length).toBeLessThan(100_000)
})
