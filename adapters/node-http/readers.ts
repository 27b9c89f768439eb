import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer as createProbe } from 'node:net'
import { availableParallelism } from 'node:os'
import { type Engine, HoldfastError, type Logger, type Metrics } from '../../src/index.ts'
import { connectionsOfEach } from './connections.ts'
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
  /** Default: one for each core, four at most. With 0 the main thread serves. */
  threads?: number
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
const LOOK_MS = 250
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
  const { host = '127.0.0.1', port = 0 } = options
  const pool = new ReaderPool(engine, { ...options, host, port: await claimed(host, port) }, hooks)
  await pool.open()
  return pool
}

/**
 * Binds the port exclusively, then releases it. A shared port would silently be shared with any other program of the
 * same user.
 */
async function claimed(host: string, port: number): Promise<number> {
  const probe = createProbe()
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject).listen({ host, port, exclusive: true }, resolve)
  }).catch((cause: Error) => {
    throw new HoldfastError('UNAVAILABLE', `cannot listen on ${host}:${port}: ${cause.message}`, { cause })
  })
  const address = probe.address()
  await new Promise(resolve => probe.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : port
}

class ReaderPool implements Readers {
  readonly port: number
  readonly #engine: ReadEngine
  readonly #host: string
  readonly #count: number
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
    { host, port, threads, metrics, logger }: ReadersOptions & { host: string; port: number },
    hooks: ReaderHooks,
  ) {
    this.port = port
    this.#engine = engine
    this.#host = host
    this.#hooks = hooks
    // Only Linux shares a port fairly.
    this.#sharesPort = hooks.sharesPort ?? process.platform === 'linux'
    const wanted = threads ?? Math.min(availableParallelism(), MOST_THREADS)
    this.#count = this.#sharesPort ? wanted : Math.min(wanted, 1)
    // The API's server gets the other half of the connections.
    this.#maxConnections = connectionsOfEach(2 * Math.max(this.#count, 1))
    this.#metrics = metrics
    this.#logger = logger ?? silence
  }

  /** Serves by the main thread until a reader listens. */
  async open(): Promise<void> {
    const metrics = this.#metrics === undefined ? {} : { metrics: this.#metrics }
    const front = createGatewayServer(this.#engine.ownGateway, { maxConnections: this.#maxConnections, ...metrics })
    this.#front = front
    this.#fronts.add(front)
    front.once('close', () => this.#fronts.delete(front))
    front.once('connection', () => this.#startAll())
    front.listen({ host: this.#host, port: this.port, reusePort: this.#sharesPort })
    await once(front, 'listening').catch((cause: Error) => {
      throw new HoldfastError('UNAVAILABLE', `cannot listen on ${this.#host}:${this.port}: ${cause.message}`, { cause })
    })
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
      this.#threads.add(new ReaderThread(reading, data, listeners, this.#hooks.entry))
    } catch (err) {
      this.#logger.error({ err }, 'gateway thread failed to start')
    }
  }

  /** Stops listening in the main thread; requests in flight continue. */
  #leave(): void {
    const front = this.#front
    this.#front = null
    if (front === null || this.#isStopping) return
    if (this.#sharesPort) leavePort(front)
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
    this.open().catch((err: unknown) => this.#logger.error({ err }, 'gateway is down until its threads listen'))
  }
}
