import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type LogFiles, LogLines } from '../../../adapters/cli/log-lines.ts'

/** Records writes and their callers. The results of the next writes are set in advance: bytes, an error, or all. */
class WrittenLog {
  readonly writes: string[] = []
  readonly atExit: string[] = []
  readonly outcomes: Array<number | string> = []
  #unanswered: Array<() => void> = []

  readonly files = {
    write: (...[, bytes, , , , done]: [number, Buffer, number, number, null, WriteDone]): void => {
      this.#unanswered.push(() => {
        const outcome = this.outcomes.shift() ?? bytes.length
        if (typeof outcome === 'string') return done(Object.assign(new Error(outcome), { code: outcome }), 0, bytes)
        this.writes.push(bytes.subarray(0, outcome).toString())
        done(null, outcome, bytes)
      })
    },
    writeSync: (_fd: number, bytes: Uint8Array): number => {
      const outcome = this.outcomes.shift() ?? bytes.length
      if (typeof outcome === 'string') throw Object.assign(new Error(outcome), { code: outcome })
      this.atExit.push(Buffer.from(bytes.subarray(0, outcome)).toString())
      return outcome
    },
  } as unknown as LogFiles

  /** Completes the writes in progress. */
  answer(): void {
    for (const answer of this.#unanswered.splice(0)) answer()
  }
}

type WriteDone = (error: NodeJS.ErrnoException | null, written: number, bytes: Buffer) => void

let written: WrittenLog
let lines: LogLines

beforeEach(() => {
  vi.useFakeTimers()
  written = new WrittenLog()
  lines = new LogLines(1, written.files)
})
afterEach(() => void vi.useRealTimers())

const line = (number: number): string => `{"line":${number}}\n`
const log = (level: number, ...numbers: number[]): void => {
  lines.lastLevel = level
  for (const number of numbers) lines.write(line(number))
}

test('the lines of many requests are one write', () => {
  log(30, 1, 2, 3)
  written.answer()
  expect(written.writes).toEqual([])
  vi.advanceTimersByTime(20)
  written.answer()
  expect(written.writes).toEqual([line(1) + line(2) + line(3)])
})

test('a warning goes out at once, after all lines before it', () => {
  const logger = pino({ base: null, timestamp: false }, lines)
  logger.info('request')
  logger.warn('odd')
  written.answer()
  expect(written.writes).toEqual(['{"level":30,"msg":"request"}\n{"level":40,"msg":"odd"}\n'])
})

test('a large batch goes out at once, and later lines follow it', () => {
  const long = `${'x'.repeat(64 * 1024)}\n`
  lines.lastLevel = 30
  lines.write(long)
  log(50, 1)
  log(30, 2)
  written.outcomes.push(10)
  for (let i = 0; i < 3; i++) written.answer()
  expect(written.writes).toEqual([long.slice(0, 10), long.slice(10), line(1) + line(2)])
})

test('lines that a full pipe refused are retried first', () => {
  written.outcomes.push(4, 'EAGAIN')
  log(50, 1)
  for (let i = 0; i < 2; i++) written.answer()
  log(30, 2)
  vi.advanceTimersByTime(20)
  for (let i = 0; i < 2; i++) written.answer()
  expect(written.writes.join('')).toBe(line(1) + line(2))
})

test('a full pipe keeps a bounded number of lines', () => {
  const long = `${'x'.repeat(1024 ** 2)}\n`
  lines.lastLevel = 30
  for (let i = 0; i < 60; i++) {
    written.outcomes.push('EAGAIN')
    lines.write(long)
    written.answer()
    vi.advanceTimersByTime(10)
  }
  written.outcomes.length = 0
  for (let i = 0; i < 3; i++) {
    vi.advanceTimersByTime(10)
    written.answer()
  }
  expect(written.writes.join('').length).toBe(16 * long.length)
})

test('a process that ends writes waiting lines to a full pipe', () => {
  written.outcomes.push(4, 'EAGAIN', 'EAGAIN')
  log(30, 1, 2)
  lines.flushSync()
  expect(written.atExit.join('')).toBe(line(1) + line(2))
  lines.flushSync()
  expect(written.atExit.join('')).toBe(line(1) + line(2))
})

test('a closed pipe is not retried, and delays no exit', () => {
  written.outcomes.push('EPIPE')
  log(50, 1)
  log(30, 2)
  written.answer()
  log(50, 3)
  written.answer()
  lines.flushSync()
  expect([...written.writes, ...written.atExit]).toEqual([])
})

test('lines are dropped only while the disk is full', () => {
  written.outcomes.push('ENOSPC')
  log(50, 1)
  log(30, 2)
  for (let i = 0; i < 2; i++) written.answer()
  expect(written.writes).toEqual([line(2)])
})

test('at most 16 Mi characters and a line wait for a reader', () => {
  const long = 'x'.repeat(1024 ** 2)
  lines.lastLevel = 30
  for (let i = 0; i < 100; i++) lines.write(long)
  for (let i = 0; i < 4; i++) written.answer()
  expect(written.writes.map(text => text.length / long.length)).toEqual([1, 16])
})

const SOURCES = resolve(import.meta.dirname, '../../../adapters/cli')

test.each([
  ['exits', 'process.exit(1)', 1],
  ['runs to its end', '', 0],
  ['fails', 'setImmediate(() => { throw new Error("broken") })', 1],
])('a process that %s has written every line', (_, end, code) => {
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script(end)], {
    encoding: 'utf8',
    timeout: 30_000,
  })
  expect(status).toBe(code)
  const messages = stdout
    .trimEnd()
    .split('\n')
    .map(text => (JSON.parse(text) as { msg: string }).msg)
  // A write in progress at the exit may end last.
  const failure = end.includes('throw') ? ['unexpected failure: the process ends'] : []
  const requests = Array.from({ length: 1_000 }, (_, number) => `request ${number}`)
  expect(messages.toSorted()).toEqual([...requests, ...failure].toSorted())
})

function script(end: string): string {
  return `
    import { pino } from ${JSON.stringify(import.meta.resolve('pino'))}
    import { LogLines } from ${JSON.stringify(`file://${SOURCES}/log-lines.ts`)}
    import { logProcess } from ${JSON.stringify(`file://${SOURCES}/process-log.ts`)}
    const lines = new LogLines(1)
    const logger = pino({}, lines)
    logProcess(logger, lines)
    for (let i = 0; i < 1000; i++) logger.info('request ' + i)
    ${end}`
}
