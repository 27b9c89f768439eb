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

/** What readers need of an engine. */
export type ReadEngine = Pick<Engine, 'ownGateway' | 'shareReading'>

/** Where readers listen, and how many there are. */
export interface ReadersOptions {
  /** Default `127.0.0.1`. */
  host?: string
  /** Default 0, any free one. */
  port?: number
  /** Default: one for each core, four at most. 0 for none: this thread serves. */
  threads?: number
  /** Told of requests, and of the bytes that go out. Default: nobody. */
  metrics?: Pick<Metrics, 'request'> & { sent(surface: 'gateway', bytes: number): void }
  /** Default: one that says nothing. */
  logger?: Logger
}

/** Threads that serve a gateway. */
export interface Readers {
  /** The one that they listen on. */
  readonly port: number
  /** Ends them once what is under way has ended, and after `ms` at the latest. Called before the engine stops. */
  stop(ms: number): Promise<void>
}

interface ReaderHooks {
  sharesPort?: boolean
  entry?: URL
}

const MOST_THREADS = 4
const LOOK_MS = 250
/** A thread that has lived for so long has failed for itself. */
const LIVED_MS = 60_000
const LONGEST_PAUSE_MS = 60_000
/** How long a thread may take to end beyond what it was given. */
const GRACE_MS = 2_000
const silent = (): void => undefined
const silence: Logger = { debug: silent, info: silent, warn: silent, error: silent }

/**
 * Serves an engine's gateway on a port of its own, by threads that start with the first connection and share nothing with
 * this one's loop. One that hangs or ends is replaced; until one listens, this thread serves. The caller stops them.
 *
 * @throws HoldfastError `UNAVAILABLE` for a port that is not to be had
 */
export function startReaders(engine: ReadEngine, options: ReadersOptions = {}): Promise<Readers> {
  return openPool(engine, options, {})
}

/** As {@link startReaders}, with what tests put in the place of what there is. */
export async function openPool(engine: ReadEngine, options: ReadersOptions, hooks: ReaderHooks): Promise<Readers> {
  const { host = '127.0.0.1', port = 0 } = options
  const pool = new ReaderPool(engine, { ...options, host, port: await claimed(host, port) }, hooks)
  await pool.open()
  return pool
}

/**
 * Binds the port as nobody else can have it, and lets go of it again: who shares a port shares it with any program of the
 * same user that does, without a word.
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
  /** Of this thread, while it serves. */
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
    // Elsewhere than on Linux a port has one listener, or shares it unfairly.
    this.#sharesPort = hooks.sharesPort ?? process.platform === 'linux'
    const wanted = threads ?? Math.min(availableParallelism(), MOST_THREADS)
    this.#count = this.#sharesPort ? wanted : Math.min(wanted, 1)
    // One half of what servers may have is for the API's.
    this.#maxConnections = connectionsOfEach(2 * Math.max(this.#count, 1))
    this.#metrics = metrics
    this.#logger = logger ?? silence
  }

  /** Has this thread listen until others do. */
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
          // Where a port has one listener, this thread makes room.
          if (!this.#sharesPort) this.#leave()
          thread.listen()
        },
        onListening: () => this.#leave(),
        onEnd: thread => this.#replace(thread),
      }
      this.#threads.add(new ReaderThread(reading, data, listeners, this.#hooks.entry))
    } catch (err) {
      this.#logger.error({ err }, 'a thread of the gateway could not be started')
    }
  }

  /** Stops listening here; what is under way goes on. */
  #leave(): void {
    const front = this.#front
    this.#front = null
    if (front === null || this.#isStopping) return
    if (this.#sharesPort) leavePort(front)
    // The thread that is to listen there waits for it.
    else void drain(front, null)
  }

  #replace(thread: ReaderThread): void {
    this.#threads.delete(thread)
    if (this.#isStopping) return
    if (Date.now() - thread.listeningSince > LIVED_MS) this.#failures = 0
    const pause = this.#failures === 0 ? 0 : Math.min(500 * 2 ** this.#failures, LONGEST_PAUSE_MS)
    this.#failures++
    this.#logger.warn({ pauseMs: pause }, 'a thread of the gateway has ended, and is started again')
    setTimeout(() => void this.#start(), pause).unref()
    if (this.#front !== null || [...this.#threads].some(({ isListening }) => isListening)) return
    this.open().catch((err: unknown) => this.#logger.error({ err }, 'the gateway is not served until its threads are'))
  }
}
