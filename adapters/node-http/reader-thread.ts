// Serves the gateway between the orders `listen` and `end` of the main thread. A counter shows every 100 ms that the
// event loop runs.
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../src/domain/clock.ts'
import type { FinishedWork, Logger } from '../../src/index.ts'
import { readingIn } from '../../src/wiring/reading.ts'
import { BACKLOG } from './connections.ts'
import { drain } from './drain.ts'
import { createGatewayServer } from './http-server.ts'
import { everyMs } from './loop-time.ts'
import { answersEnded } from './open-answers.ts'
import { BEATS, type ReaderData, type ReaderOrder, type ReaderTold, THREAD } from './reader-messages.ts'
import { ownThread } from './thread-time.ts'

const BEAT_MS = 100
const TELL_MS = 50
const TOLD_AT_ONCE = 512

const { reading, host, port, sharesPort, maxConnections, traces, beats } = workerData as ReaderData

let waiting: ReaderTold[] = []
let endWait: (() => void) | null = null
let isEnding = false

function tell(told: ReaderTold): void {
  waiting.push(told)
  if (waiting.length >= TOLD_AT_ONCE) flush()
  else endWait ??= systemClock.after(TELL_MS, flush)
}

function flush(): void {
  endWait?.()
  endWait = null
  const told = waiting
  waiting = []
  if (told.length > 0) parentPort?.postMessage(told)
}

function tellNow(told: ReaderTold): void {
  tell(told)
  flush()
}

const log =
  (level: 'debug' | 'info' | 'warn' | 'error') =>
  (fields: object, message: string): void => {
    const sent = 'err' in fields ? { ...fields, err: plain(fields.err) } : fields
    tell({ kind: 'line', level, fields: sent, message })
  }

/** Returns an object that can be posted to the main thread, with all properties that the log shows. */
function plain(error: unknown): unknown {
  if (!(error instanceof Error)) return error === undefined ? undefined : String(error)
  const { name: type, message, stack, cause } = error
  const code = 'code' in error ? { code: String(error.code) } : {}
  return { type, message, stack, ...code, ...(cause !== undefined && { cause: plain(cause) }) }
}

const logger: Logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') }
const metrics = {
  request: (observation: Extract<ReaderTold, { kind: 'request' }>['observation']): void =>
    tell({ kind: 'request', observation }),
  finished: traces ? (work: FinishedWork): void => tell({ kind: 'finished', work }) : undefined,
  sent: (_surface: 'gateway', bytes: number): void => tell({ kind: 'sent', bytes }),
}

Atomics.store(beats, THREAD, ownThread())
everyMs(BEAT_MS, () => Atomics.add(beats, BEATS, 1))
const opened = readingIn(reading, { logger, metrics })
const server = createGatewayServer(opened.gateway, { maxConnections, metrics })

parentPort?.on('message', (order: ReaderOrder) => {
  if (order.kind === 'end') {
    void end(order.ms)
  } else if (order.kind === 'wait') {
    void answersEnded(server).then(() => tellNow({ kind: 'waited' }))
  } else if (!isEnding) {
    server.once('error', error => {
      throw error
    })
    server.listen({ host, port, reusePort: sharesPort, backlog: BACKLOG }, () => tellNow({ kind: 'listening' }))
  }
})
tellNow({ kind: 'ready' })

async function end(ms: number): Promise<void> {
  isEnding = true
  if (server.listening) await drain(server, ms)
  opened.close()
  flush()
  parentPort?.close()
}
