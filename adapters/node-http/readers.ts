import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo, ListenOptions } from 'node:net'
import { availableParallelism, totalmem } from 'node:os'
import { type Engine, HoldfastError, type Logger, type Metrics } from '../../src/index.ts'
import { BACKLOG, connectionsOfEach } from './connections.ts'
import { drain } from './drain.ts'
import { createGatewayServer } from './http-server.ts'
import { leavePort } from './leave-port.ts'
import { type ReaderListeners, ReaderThread } from './started-reader.ts'

/** Parts of an engine that readers need. */
export type ReadEngine = Pick<Engine, 'ownGateway' | 'shareReading'>

/** Address and number of readers. */
export interface ReadersOptions {
  /** Default `127.0.0.1`. */
  host?: string
  /** Default 0, any free one. */
  port?: number
  /** Default: one for each core and 192 MiB of memory, four at most. With 0 the main thread serves. */
  threads?: number
  /** Memory that the process may use. Default: that of the machine. */
  memoryBytes?: number
  /** Counts requests and sent bytes. Default: none. */
  metrics?: Pick<Metrics, 'request'> & { sent(surface: 'gateway', bytes: number): void }
  /** Default: a silent one. */
  logger?: Logger
}

/** Threads that serve a gateway. */
export interface Readers {
  /** The port of all threads. */
  readonly port: number
  /** Ends the threads when their requests have ended, and after `ms` at the latest. Call it before the engine stops. */
  stop(ms: number): Promise<void>
}

interface ReaderHooks {
  sharesPort?: boolean
  entry?: URL
}

const MOST_THREADS = 4
/** Memory of the process for each of its threads. */
const BYTES_PER_THREAD = 192 * 1024 ** 2
/** Part of the memory for the heap of each thread. */
const HEAP_SHARE = 4
const LOOK_MS = 250
/** Longest time that the first listener takes to leave its port to those that share it. */
const CLAIM_MS = 1_000
/** A thread that lived this long is restarted without a pause. */
const LIVED_MS = 60_000
const LONGEST_PAUSE_MS = 60_000
/** Extra time that a thread has to end. */
const GRACE_MS = 2_000
const silent = (): void => undefined
const silence: Logger = { debug: silent, info: silent, warn: silent, error: silent }

/**
 * Serves an engine's gateway on a port of its own, by threads with event loops of their own that start with the first
 * connection. A thread that hangs or ends is replaced. Until one listens, the main thread serves. The caller stops
 * them.
 *
 * @throws HoldfastError `UNAVAILABLE` for a port that cannot be bound
 */
export function startReaders(engine: ReadEngine, options: ReadersOptions = {}): Promise<Readers> {
  return openPool(engine, options, {})
}

/** As {@link startReaders}, with hooks for tests. */
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
  readonly #threads = new Set<ReaderThread>()
  readonly #fronts = new Set<Server>()
  /** Server of the main thread, while it serves. */
  #front: Server | null = null
  #looking: NodeJS.Timeout | null = null
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
    // Only Linux shares a port fairly.
    this.#sharesPort = hooks.sharesPort ?? process.platform === 'linux'
    const affordable = Math.max(1, Math.floor(memoryBytes / BYTES_PER_THREAD))
    const wanted = threads ?? Math.min(availableParallelism(), MOST_THREADS, affordable)
    this.#heapBytes = memoryBytes / HEAP_SHARE
    this.#count = this.#sharesPort ? wanted : Math.min(wanted, 1)
    // The API's server gets the other half of the connections.
    this.#maxConnections = connectionsOfEach(2 * Math.max(this.#count, 1))
    this.#metrics = metrics
    this.#logger = logger ?? silence
  }

  /** Takes the port as nobody else can have it: any program of the same user can join a port that is shared. */
  async open(): Promise<void> {
    if (!this.#sharesPort) return this.#serve({ exclusive: true })
    const owner = this.#server()
    await this.#listen(owner, { exclusive: true, backlog: 1 })
    await leavePort(owner, CLAIM_MS)
    await this.#serve({ reusePort: true })
  }

  /** Serves by the main thread until a reader listens. */
  async #serve(how: ListenOptions): Promise<void> {
    const front = this.#server()
    this.#front = front
    front.once('connection', () => this.#startAll())
    await this.#listen(front, how)
  }

  #server(): Server {
    const metrics = this.#metrics === undefined ? {} : { metrics: this.#metrics }
    return createGatewayServer(this.#engine.ownGateway, { maxConnections: this.#maxConnections, ...metrics })
  }

  async #listen(server: Server, how: ListenOptions): Promise<void> {
    server.listen({ host: this.#host, port: this.port, backlog: BACKLOG, ...how })
    await once(server, 'listening').catch((cause: Error) => {
      throw new HoldfastError('UNAVAILABLE', `cannot listen on ${this.#host}:${this.port}: ${cause.message}`, { cause })
    })
    this.port = (server.address() as AddressInfo).port
    this.#fronts.add(server)
    server.once('close', () => this.#fronts.delete(server))
  }

  async stop(ms: number): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    if (this.#looking !== null) clearInterval(this.#looking)
    const servers = [...this.#fronts].map(front => drain(front, ms))
    await Promise.all([...servers, ...[...this.#threads].map(thread => thread.end(ms, GRACE_MS))])
  }

  #startAll(): void {
    if (this.#looking !== null || this.#isStopping) return
    let last = performance.now()
    this.#looking = setInterval(() => {
      const now = performance.now()
      const elapsed = Math.min(now - last, 2 * LOOK_MS)
      last = now
      for (const thread of this.#threads) thread.look(elapsed)
    }, LOOK_MS).unref()
    for (let started = 0; started < this.#count; started++) void this.#start()
  }

  async #start(): Promise<void> {
    if (this.#isStopping) return
    try {
      const reading = await this.#engine.shareReading()
      const where = { host: this.#host, port: this.port, sharesPort: this.#sharesPort }
      const data = { ...where, maxConnections: this.#maxConnections }
      if (this.#isStopping) {
        reading.end()
        return
      }
      const listeners: ReaderListeners = {
        logger: this.#logger,
        metrics: this.#metrics,
        onReady: thread => {
          // An unshared port must be free for the reader.
          if (!this.#sharesPort) this.#leave()
          thread.listen()
        },
        onListening: () => this.#leave(),
        onEnd: thread => this.#replace(thread),
      }
      this.#threads.add(
        new ReaderThread(reading, data, listeners, { entry: this.#hooks.entry, heapBytes: this.#heapBytes }),
      )
    } catch (err) {
      this.#logger.error({ err }, 'gateway thread failed to start')
    }
  }

  /** Stops listening in the main thread; requests in flight continue. */
  #leave(): void {
    const front = this.#front
    this.#front = null
    if (front === null || this.#isStopping) return
    if (this.#sharesPort) void leavePort(front)
    // The reader listens only once the port is free.
    else void drain(front, null)
  }

  #replace(thread: ReaderThread): void {
    this.#threads.delete(thread)
    if (this.#isStopping) return
    if (Date.now() - thread.listeningSince > LIVED_MS) this.#failures = 0
    const pause = this.#failures === 0 ? 0 : Math.min(500 * 2 ** this.#failures, LONGEST_PAUSE_MS)
    this.#failures++
    this.#logger.warn({ pauseMs: pause }, 'gateway thread ended, restarting it')
    setTimeout(() => void this.#start(), pause).unref()
    if (this.#front !== null || [...this.#threads].some(({ isListening }) => isListening)) return
    this.#serve({ reusePort: this.#sharesPort }).catch((err: unknown) =>
      this.#logger.error({ err }, 'gateway is down until its threads listen'),
    )
  }
}
