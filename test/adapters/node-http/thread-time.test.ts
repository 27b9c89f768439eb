import { setTimeout as sleep } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { ReaderThread } from '../../../adapters/node-http/started-reader.ts'
import { ownThread, statOf, ThreadTime } from '../../../adapters/node-http/thread-time.ts'
import { needsLinux } from '../../support/needs.ts'

/** A `stat` as the system writes it, of a thread with a hostile name. */
const stat = (state: string, ticks: number): string => `7 (a) R (b) ${state} 1 1 1 0 -1 4 0 0 0 0 ${ticks} 0 0 0`

describe('the time of a thread', () => {
  test('excludes waits for a processor', () => {
    let now = stat('R', 100)
    const time = new ThreadTime(() => now)
    time.since(250)
    expect(time.since(250)).toBe(0)
    now = stat('R', 103)
    expect(time.since(250)).toBe(30)
    now = stat('R', 900)
    expect(time.since(250)).toBe(250)
  })

  test('includes waits for anything else', () => {
    const time = new ThreadTime(() => stat('S', 100))
    expect([time.since(250), time.since(250)]).toEqual([250, 250])
  })

  test('is all time where the system does not tell', () => {
    const time = new ThreadTime(() => {
      throw new Error('no such file')
    })
    expect(time.since(250)).toBe(250)
  })

  test('is read from the system', needsLinux, () => {
    expect(ownThread()).toBeGreaterThan(0)
    const time = new ThreadTime(() => statOf(ownThread()))
    time.since(60_000)
    for (const until = performance.now() + 500; performance.now() < until; );
    const ran = time.since(60_000)
    expect(ran).toBeGreaterThan(0)
    expect(ran).toBeLessThan(60_000)
  })
})

test('a thread without a processor is not ended as hanging', async () => {
  let now = stat('R', 100)
  const { port1, port2 } = new MessageChannel()
  const ignore = (): void => undefined
  const listeners = {
    ...{ logger: { debug: ignore, info: ignore, warn: ignore, error: ignore }, metrics: undefined },
    ...{ onReady: ignore, onListening: ignore, onEnd: ignore },
  }
  const reading = { data: {}, port: port2, isAwaited: false, end: () => port1.close() }
  const data = { host: '127.0.0.1', port: 0, sharesPort: true, maxConnections: 16, traces: false }
  const endless = new URL('data:text/javascript,for(;;);')
  const reader = new ReaderThread(reading, data, listeners, { entry: endless, stat: () => now })
  let hasEnded = false
  void reader.ended.then(() => {
    hasEnded = true
  })
  for (let look = 0; look < 1_000; look++) reader.look(500)
  await sleep(100)
  expect(hasEnded).toBe(false)
  now = stat('R', 100_000)
  for (let look = 0; look < 1_000; look++) {
    now = stat('R', 100_000 + look * 50)
    reader.look(500)
  }
  await reader.ended
})
