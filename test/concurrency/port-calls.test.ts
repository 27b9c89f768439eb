import { MessageChannel } from 'node:worker_threads'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { answerCalls, type PortAnswers, PortCalls } from '../../src/concurrency/port-calls.ts'
import { HoldfastError } from '../../src/domain/errors.ts'

let channel: MessageChannel

beforeEach(() => {
  channel = new MessageChannel()
})
afterEach(() => channel.port1.close())

function callsTo(answers: PortAnswers, bounds: Record<string, number> = {}): PortCalls {
  answerCalls(channel.port1, answers)
  return new PortCalls(channel.port2, bounds)
}

test('an answer returns, and so does an error with its details', async () => {
  const details = { retryAfter: 3 }
  const calls = callsTo({
    double: (number: number) => 2 * number,
    fail: () => Promise.reject(new HoldfastError('UNAVAILABLE', 'not now', { details })),
    crash: () => Promise.reject(new Error('what nobody is told')),
  })
  expect(await Promise.all([calls.ask('double', 1), calls.ask('double', 2)])).toEqual([2, 4])
  await expect(calls.ask('fail', null)).rejects.toMatchObject({ code: 'UNAVAILABLE', message: 'not now', details })
  const crash = await calls.ask('crash', null).catch((error: unknown) => error)
  expect(crash).toBeInstanceOf(Error)
  expect(crash).not.toBeInstanceOf(HoldfastError)
})

test('open calls are limited, and a signal ends one at both ends', async () => {
  const open: AbortSignal[] = []
  const calls = callsTo(
    { wait: (_: null, signal: AbortSignal) => new Promise(() => open.push(signal)), other: () => 'at once' },
    { wait: 2 },
  )
  const clients = Array.from({ length: 4 }, () => new AbortController())
  const asked = clients.map(({ signal }) => calls.ask('wait', null, signal).catch((error: unknown) => error))
  expect(await calls.ask('other', null)).toBe('at once')
  expect(open).toHaveLength(2)
  clients[0]?.abort('gone')
  clients[3]?.abort('gone before it was asked')
  expect(await asked[0]).toBe('gone')
  await expect.poll(() => open).toHaveLength(3)
  expect(open.map(({ aborted }) => aborted)).toEqual([true, false, false])
  clients[1]?.abort('gone')
  expect(await asked[3]).toBe('gone before it was asked')
  expect(open).toHaveLength(3)
  channel.port1.close()
  expect(await asked[2]).toMatchObject({ code: 'UNAVAILABLE' })
  await expect.poll(() => open.every(({ aborted }) => aborted)).toBe(true)
  await expect(calls.ask('other', null)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})

test('the end of the answers makes the calls that have arrived', async () => {
  const told = vi.fn()
  const end = answerCalls(channel.port1, { tell: told })
  const asked = new PortCalls(channel.port2, {}).ask('tell', 1).catch(() => undefined)
  end()
  expect(told.mock.calls.map(([argument]) => argument)).toEqual([1])
  await asked
})
