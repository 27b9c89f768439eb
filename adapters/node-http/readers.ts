import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo, ListenOptions } from 'node:net'
import { availableParallelism, totalmem } from 'node:os'
import { type Clock, systemClock } from '../../src/domain/clock.ts'
import { checkFields } from '../../src/domain/known-fields.ts'
import { type Engine, HoldfastError, type Logger, type Metrics } from '../../src/index.ts'
import { BACKLOG, connectionsOfEach } from './connections.ts'
import { drain } from './drain.ts'
import { READERS } from './http-options.ts'
import { createGatewayServer } from './http-server.ts'
import { leavePort } from './leave-port.ts'
import { everyMs } from './loop-time.ts'
import { answersEnded } from './open-answers.ts'
import { readerSizes } from './reader-sizes.ts'
import { isSoleListener } from './sole-listener.ts'
import { type ReaderListeners, ReaderThread } from './started-reader.ts'

/** Parts of an engine that reader threads use. */
export type ReadEngine = Pick<Engine, 'ownGateway' | 'shareReading'>

/** Options of the reader threads. */
export interface ReadersOptions {
  /** Default: `127.0.0.1`. */
  host?: string
  /** Default: 0, which selects any free port. */
  port?: number
  /**
   * With 0, the main thread serves the gateway. Default: the number of cores, at most four, and one thread per 192 MiB
   * of memory.
   */
  threads?: number
  /** Memory that the process may use. Default: the memory of the machine. */
  memoryBytes?: number
  /** Default: nothing is counted. */
  metrics?: Pick<Metrics, 'request' | 'finished'> & { sent(surface: 'gateway', bytes: number): void }
  /** Default: nothing is logged. */
  logger?: Logger
}

/** The threads that serve a gateway. */
export interface Readers {
  readonly port: number
  /** Resolves when the answers that the gateway gives at the time of the call have ended. */
  answersEnded(): Promise<void>
  /** Waits for all requests to end, but not longer than `ms`, then ends the threads. Stop the engine afterwards. */
  stop(ms: number): Promise<void>
}

interface ReaderHooks {
  sharesPort?: boolean
  entry?: URL
  clock?: Clock
}

const LOOK_MS = 250
/** A thread that has listened for this long is restarted without a pause. */
const LIVED_MS = 60_000
const LONGEST_PAUSE_MS = 60_000
/** Time after the deadline of a stop, when threads that still run are terminated. */
const GRACE_MS = 2_000
const silent = (): void => undefined
const silence: Logger = { debug: silent, info: silent, warn: silent, error: silent }

/**
 * Serves an engine's gateway on a separate port, in threads that start with the first connection. A thread that hangs
 * or ends is replaced. The caller must stop the threads.
 *
 * @throws HoldfastError `UNAVAILABLE` if the server cannot listen on the port
 * @example const readers = await startReaders(engine, { port: 8081 })
 */
export async function startReaders(engine: ReadEngine, options: ReadersOptions = {}): Promise<Readers> {
  checkFields(options, READERS, 'startReaders')
  return openPool(engine, options, {})
}

export async function openPool(engine: ReadEngine, options: ReadersOptions, hooks: ReaderHooks): Promise<Readers> {
  const pool = new ReaderPool(engine, options, hooks)
  await pool.open()
  return pool
}

class ReaderPool implements Readers {
  port: number
  readonly #engine: ReadEngine
  readonly #host: string
  readonly #count: number
  readonly #heapBytes: number
  readonly #maxConnections: number
  readonly #sharesPort: boolean
  readonly #hooks: ReaderHooks
  readonly #metrics: ReaderListeners['metrics']
  readonly #logger: Logger
  readonly #clock: Clock
  readonly #threads = new Set<ReaderThread>()
  readonly #fronts = new Set<Server>()
  /** Null while only the threads listen. */
  #front: Server | null = null
  #endLooks: (() => void) | null = null
  #failures = 0
  #isStopping = false

  constructor(
    engine: ReadEngine,
    { host = '127.0.0.1', port = 0, threads, metrics, logger, memoryBytes = totalmem() }: ReadersOptions,
    hooks: ReaderHooks,
  ) {
    this.port = port
    this.#engine = engine
    this.#host = host
    this.#hooks = hooks
    this.#clock = hooks.clock ?? systemClock
    // Only Linux distributes connections evenly between the servers that share a port.
    this.#sharesPort = hooks.sharesPort ?? process.platform === 'linux'
    const sizes = readerSizes(memoryBytes, availableParallelism())
    const wanted = threads ?? sizes.threads
    this.#heapBytes = sizes.heapBytes
    this.#count = this.#sharesPort ? wanted : Math.min(wanted, 1)
    // Half of the connections are reserved for the API server.
    this.#maxConnections = connectionsOfEach(2 * Math.max(this.#count, 1), memoryBytes)
    this.#metrics = metrics
    this.#logger = logger ?? silence
  }

  /**
   * Opens the port. Another program of the same user may share it, too, so the pool looks for other listeners
   * afterwards. If two programs start together, both see each other.
   */
  async open(): Promise<void> {
    if (!this.#sharesPort) return void (await this.#serve({ exclusive: true }))
    if (isSoleListener(await this.#serve({ reusePort: true }))) return
    await this.stop(0)
    const reason = 'another program listens on the port'
    throw this.#cannotListen(reason, Object.assign(new Error(reason), { code: 'EADDRINUSE' }))
  }

  async #serve(how: ListenOptions): Promise<Server> {
    const front = this.#server()
    this.#front = front
    front.once('connection', () => this.#startAll())
    await this.#listen(front, how)
    return front
  }

  #server(): Server {
    const metrics = this.#metrics === undefined ? {} : { metrics: this.#metrics }
    return createGatewayServer(this.#engine.ownGateway, { maxConnections: this.#maxConnections, ...metrics })
  }

  async #listen(server: Server, how: ListenOptions): Promise<void> {
    server.listen({ host: this.#host, port: this.port, backlog: BACKLOG, ...how })
    await once(server, 'listening').catch((cause: Error) => {
      throw this.#cannotListen(cause.message, cause)
    })
    this.port = (server.address() as AddressInfo).port
    this.#fronts.add(server)
    server.once('close', () => this.#fronts.delete(server))
  }

  #cannotListen(reason: string, cause: Error): HoldfastError {
    return new HoldfastError('UNAVAILABLE', `cannot listen on ${this.#host}:${this.port}: ${reason}`, { cause })
  }

  async answersEnded(): Promise<void> {
    const threads = [...this.#threads].map(thread => thread.answersEnded())
    await Promise.all([...[...this.#fronts].map(answersEnded), ...threads])
  }

  async stop(ms: number): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    this.#endLooks?.()
    const servers = [...this.#fronts].map(front => drain(front, ms))
    await Promise.all([...servers, ...[...this.#threads].map(thread => thread.end(ms, GRACE_MS))])
  }

  #startAll(): void {
    if (this.#endLooks !== null || this.#isStopping) return
    this.#endLooks = everyMs(LOOK_MS, elapsed => {
      for (const thread of this.#threads) thread.look(Math.min(elapsed, 2 * LOOK_MS))
    })
    for (let started = 0; started < this.#count; started++) void this.#start()
  }

  async #start(): Promise<void> {
    if (this.#isStopping) return
    try {
      const reading = await this.#engine.shareReading()
      const where = { host: this.#host, port: this.port, sharesPort: this.#sharesPort }
      const traces = this.#metrics?.finished !== undefined
      const data = { ...where, maxConnections: this.#maxConnections, traces }
      if (this.#isStopping) {
        reading.end()
        return
      }
      const listeners: ReaderListeners = {
        logger: this.#logger,
        metrics: this.#metrics,
        onReady: thread => {
          // If the port cannot be shared, the main thread must leave the port before the thread can listen.
          if (!this.#sharesPort) this.#leave()
          thread.listen()
        },
        onListening: () => this.#leave(),
        onEnd: thread => this.#replace(thread),
      }
      this.#threads.add(
        new ReaderThread(reading, data, listeners, {
          entry: this.#hooks.entry,
          heapBytes: this.#heapBytes,
          clock: this.#clock,
        }),
      )
    } catch (err) {
      this.#logger.error({ err }, 'gateway thread failed to start')
    }
  }

  #leave(): void {
    const front = this.#front
    this.#front = null
    if (front === null || this.#isStopping) return
    if (this.#sharesPort) void leavePort(front)
    else void drain(front, null)
  }

  #replace(thread: ReaderThread): void {
    this.#threads.delete(thread)
    if (this.#isStopping) return
    if (this.#clock.now() - thread.listeningSince > LIVED_MS) this.#failures = 0
    const pause = this.#failures === 0 ? 0 : Math.min(500 * 2 ** this.#failures, LONGEST_PAUSE_MS)
    this.#failures++
    this.#logger.warn({ pauseMs: pause }, 'gateway thread ended, restarting it')
    this.#clock.after(pause, () => void this.#start())
    if (this.#front !== null || [...this.#threads].some(({ isListening }) => isListening)) return
    this.#serve({ reusePort: this.#sharesPort }).catch((err: unknown) =>
      this.#logger.error({ err }, 'gateway is down until its threads listen'),
    )
  }
}
