import { expect, onTestFinished, test, vi } from 'vitest'
import { firstTurn, nextTurn, noteConnection, turnSpent } from '../../src/concurrency/turns.ts'
import { chargeWork, underName } from '../../src/concurrency/work.ts'
import type { ApiRequest } from '../../src/http/api-messages.ts'
import { CountedBody } from '../../src/http/counted-body.ts'

/** Holds the loop for a fixed time, however fast the machine is. */
function work(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

test('timers and sockets run between the steps of many walks', async () => {
  let turns = 0
  let isOver = false
  const turn = (): void => {
    turns++
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  const walk = async (): Promise<void> => {
    for (let step = 0; step < 40; step++) {
      if (turnSpent()) await nextTurn()
      work(0.5)
    }
  }
  await Promise.all(Array.from({ length: 5 }, walk))
  isOver = true
  // 100 ms of work, a few of them at a time.
  expect(turns).toBeGreaterThanOrEqual(10)
})

test('a body is read no further while other work waits', async () => {
  const log: string[] = []
  const pieces = async function* () {
    for (const piece of ['first', 'second']) {
      log.push(piece)
      yield Buffer.from(piece)
    }
  }
  const request = { body: pieces(), header: () => undefined, signal: new AbortController().signal }
  const body = new CountedBody(request as unknown as ApiRequest)
  const waiting = nextTurn().then(() => log.push('other work'))
  for await (const _ of body);
  await waiting
  expect(log).toEqual(['first', 'other work', 'second'])
})

test('walks side by side progress equally', async () => {
  let now = performance.now()
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  // Ends the turn that began at a real time.
  await nextTurn()
  const steps = Array.from({ length: 10 }, () => 0)
  let left = 1000
  const walk = async (index: number): Promise<void> => {
    while (left > 0) {
      if (turnSpent()) await nextTurn()
      now += 0.1
      left--
      steps[index] = (steps[index] ?? 0) + 1
    }
  }
  await Promise.all(steps.map((_, index) => walk(index)))
  expect(Math.max(...steps)).toBeLessThan(5 * Math.min(...steps))
})

test('an abandoned walk ends at its next turn', async () => {
  const gone = new AbortController()
  const walk = nextTurn(gone.signal)
  gone.abort(new Error('gone'))
  await expect(walk).rejects.toThrow('gone')
})

test('a request of another account passes the crowd of one', async () => {
  turnSpent()
  work(5)
  const order: string[] = []
  const request = async (owner: string): Promise<void> => {
    await firstTurn(owner)
    order.push(owner)
  }
  await Promise.all([...Array.from({ length: 20 }, () => request('crowd')), request('other')])
  expect(order.indexOf('other')).toBeLessThanOrEqual(1)
})

test('a walk of another account passes the crowd of one', async () => {
  const order: string[] = []
  const walk = (owner: string): Promise<void> =>
    underName('walk', async () => {
      chargeWork(owner)
      await nextTurn()
      order.push(owner)
    })
  await Promise.all([...Array.from({ length: 20 }, () => walk('crowd')), walk('other')])
  expect(order.indexOf('other')).toBeLessThanOrEqual(1)
})

test('a heavy account waits for a light one', async () => {
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  const order: string[] = []
  const walk = (owner: string, ms: number): Promise<void> =>
    underName('walk', async () => {
      chargeWork(owner)
      for (let step = 0; step < 4; step++) {
        await nextTurn()
        order.push(owner)
        now += ms
      }
    })
  await Promise.all([walk('heavy', 20), walk('light', 1)])
  expect(order).toEqual(['heavy', 'light', 'light', 'light', 'light', 'heavy', 'heavy', 'heavy'])
})

test('each step of a walk is in a later turn', async () => {
  let turns = 0
  let isOver = false
  const turn = (): void => {
    turns++
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  const walk = async (): Promise<void> => {
    for (let step = 0; step < 10; step++) await nextTurn()
  }
  await Promise.all(Array.from({ length: 5 }, walk))
  isOver = true
  expect(turns).toBeGreaterThanOrEqual(40)
})

test('work of an idle node starts at once', async () => {
  await nextTurn()
  await new Promise(resolve => setImmediate(resolve))
  await new Promise(resolve => setImmediate(resolve))
  expect(firstTurn('anybody')).toBeNull()
})

test('queued connections are accepted before waiting tasks, for 32 rounds', async () => {
  let now = performance.now() + 1_000
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  await nextTurn()
  let rounds = 0
  const started: number[] = []
  const task = async (): Promise<void> => {
    await nextTurn()
    started.push(rounds)
  }
  const tasks = Array.from({ length: 8 }, task)
  noteConnection()
  expect(turnSpent()).toBe(true)
  // Each round accepts a connection, and takes long, as if the process waited for a processor.
  for (; rounds < 40; rounds++) {
    noteConnection()
    await new Promise(resolve => setImmediate(resolve))
    now += 50
  }
  await Promise.all(tasks)
  expect(Math.min(...started)).toBe(33)
  expect(Math.max(...started)).toBeLessThan(40)
})

test('connections do not delay a few waiting tasks', async () => {
  await nextTurn()
  let rounds = 0
  const started: number[] = []
  const tasks = Array.from({ length: 3 }, async () => {
    await nextTurn()
    started.push(rounds)
  })
  for (; rounds < 8; rounds++) {
    noteConnection()
    await new Promise(resolve => setImmediate(resolve))
  }
  await Promise.all(tasks)
  expect(Math.max(...started)).toBeLessThan(8)
})
