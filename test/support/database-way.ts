import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A failure that the proxy injects at one statement. */
export interface Mishap {
  /**
   * Index of the statement, counted from 0 since {@link DatabaseWay.befall}; or the commit of the first connection
   * whose statements contain this text.
   */
  at: number | { commitOf: string }
  /** `before`: PostgreSQL has not received the statement. `after`: the client has not received the answer. */
  when: 'before' | 'after'
  /**
   * `stop` passes nothing on any more, as if the client's process were suspended. `cut` closes the connection. `outage`
   * closes all connections and refuses new ones. Each lasts until {@link DatabaseWay.goOn}.
   */
  what: 'stop' | 'cut' | 'outage'
}

/** A proxy between a client and PostgreSQL that injects failures. */
export interface DatabaseWay {
  /** URL that leads to PostgreSQL through the proxy. */
  url: string
  /** Name of the proxy's connections in `pg_stat_activity`. */
  application: string
  /** Injects one failure. Resolves once it has happened. */
  befall(mishap: Mishap): Promise<void>
  /** Ends the failure, or cancels one that has not happened yet. */
  goOn(): void
  /** Delays each answer by this many milliseconds. */
  delay(ms: number): void
  /** Open connections: the number now, and the highest so far. */
  connections(): { now: number; most: number }
  stop(): Promise<void>
}

let ways = 0

/**
 * Message types of PostgreSQL's protocol: SYNC and QUERY end a request, PARTS come before its end, READY ends an
 * answer.
 */
const SYNC = 'S'
const QUERY = 'Q'
const PARTS = 'PBDECH'
const READY = 'Z'

export async function openWay(serverUrl: string): Promise<DatabaseWay> {
  const target = new URL(serverUrl)
  const passing = new Passing()
  const server = createServer(client => {
    if (passing.isOut) return void client.destroy()
    passing.add(client, connect(Number(target.port), target.hostname))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const url = new URL(serverUrl)
  url.port = String(typeof address === 'object' && address !== null ? address.port : 0)
  const application = `way-${process.pid}-${ways++}`
  url.searchParams.set('application_name', application)
  return {
    url: url.href,
    application,
    befall: mishap => passing.befall(mishap),
    goOn: () => passing.goOn(),
    delay: ms => passing.delay(ms),
    connections: () => passing.connections(),
    async stop() {
      passing.end()
      server.close()
      await once(server, 'close')
    },
  }
}

/** All connections of a proxy, and the failure to inject into one of them. */
class Passing {
  readonly #all = new Set<Way>()
  #most = 0
  #mishap: (Mishap & { met: () => void }) | null = null
  #seen = 0
  delayMs = 0
  isStopped = false
  isOut = false

  add(client: Socket, upstream: Socket): void {
    const way = new Way(this, client, upstream)
    this.#all.add(way)
    this.#most = Math.max(this.#most, this.#all.size)
    way.closed.then(() => this.#all.delete(way))
  }

  befall(mishap: Mishap): Promise<void> {
    this.#seen = 0
    return new Promise(met => {
      this.#mishap = { ...mishap, met }
    })
  }

  /** Counts a statement. Returns the failure to inject at it, or null. */
  of(statement: Buffer, way: Way): Mishap | null {
    const index = this.#seen++
    const mishap = this.#mishap
    if (mishap === null) return null
    const { at } = mishap
    if (typeof at !== 'number' && statement.includes(at.commitOf)) way.isMeant = true
    return (typeof at === 'number' ? index === at : way.isMeant && statement.includes('COMMIT')) ? mishap : null
  }

  strike({ what }: Mishap, struck: Way): void {
    const met = this.#mishap?.met
    this.#mishap = null
    if (what === 'stop') this.isStopped = true
    if (what === 'cut') struck.cut()
    if (what === 'outage') {
      this.isOut = true
      for (const way of this.#all) way.cut()
    }
    met?.()
  }

  goOn(): void {
    this.#mishap = null
    this.isStopped = false
    this.isOut = false
    for (const way of this.#all) way.pass()
  }

  delay(ms: number): void {
    this.delayMs = ms
  }

  connections(): { now: number; most: number } {
    return { now: this.#all.size, most: this.#most }
  }

  end(): void {
    for (const way of this.#all) way.cut()
  }
}

/** One connection between a client and PostgreSQL. */
class Way {
  readonly #passing: Passing
  readonly #client: Socket
  readonly #upstream: Socket
  readonly #up: Buffer[] = []
  readonly #down: Buffer[] = []
  readonly #asked = new Messages(false)
  /** Messages received so far of the current statement. */
  #statement: Buffer[] = []
  /** The answer that must be complete before the failure happens; null if none is expected. */
  #answer: { messages: Messages; mishap: Mishap } | null = null
  #isEnded = false
  /** True once this connection has sent the text in `commitOf`. */
  isMeant = false
  readonly closed: Promise<void>

  constructor(passing: Passing, client: Socket, upstream: Socket) {
    this.#passing = passing
    this.#client = client
    this.#upstream = upstream
    client.setNoDelay(true)
    upstream.setNoDelay(true)
    this.closed = once(client, 'close').then(() => undefined)
    client.on('data', bytes => this.#send(bytes))
    upstream.on('data', bytes => this.#receive(bytes))
    client.on('error', () => this.cut()).on('close', () => this.cut())
    upstream
      .on('error', () => undefined)
      .on('close', () => {
        this.#isEnded = true
        this.pass()
      })
  }

  cut(): void {
    this.#client.destroy()
    this.#upstream.destroy()
  }

  /** Passes on everything received, unless the proxy is stopped. */
  pass(): void {
    if (this.#passing.isStopped || this.#client.destroyed) return
    for (const bytes of this.#up.splice(0)) this.#upstream.write(bytes)
    for (const bytes of this.#down.splice(0)) this.#client.write(bytes)
    if (this.#isEnded) this.#client.end()
  }

  #send(bytes: Buffer): void {
    for (const { type, message } of this.#asked.take(bytes)) {
      this.#statement.push(message)
      if (PARTS.includes(type)) continue
      const statement = Buffer.concat(this.#statement)
      this.#statement = []
      this.#up.push(statement)
      const isCounted = (type === QUERY || type === SYNC) && !this.#passing.isStopped
      const mishap = isCounted ? this.#passing.of(statement, this) : null
      if (mishap?.when === 'before') this.#passing.strike(mishap, this)
      else if (mishap !== null) this.#answer = { messages: new Messages(true), mishap }
    }
    this.pass()
  }

  #receive(bytes: Buffer): void {
    this.#down.push(bytes)
    if (this.#answer !== null) {
      const isWhole = this.#answer.messages.take(bytes).some(({ type }) => type === READY)
      if (!isWhole) return
      const { mishap } = this.#answer
      this.#answer = null
      this.#passing.strike(mishap, this)
    }
    if (this.#passing.delayMs === 0) this.pass()
    else setTimeout(() => this.pass(), this.#passing.delayMs)
  }
}

/** Splits a byte stream of PostgreSQL's protocol into messages. */
class Messages {
  #isStarted: boolean
  #rest = Buffer.alloc(0)

  /** @param isStarted whether the startup message, the only one without a type, has already passed */
  constructor(isStarted: boolean) {
    this.#isStarted = isStarted
  }

  take(bytes: Buffer): Array<{ type: string; message: Buffer }> {
    this.#rest = Buffer.concat([this.#rest, bytes])
    const messages: Array<{ type: string; message: Buffer }> = []
    for (;;) {
      const head = this.#isStarted ? 1 : 0
      if (this.#rest.length < head + 4) return messages
      const length = head + this.#rest.readUInt32BE(head)
      if (this.#rest.length < length) return messages
      const type = this.#isStarted ? String.fromCharCode(this.#rest[0] ?? 0) : 'startup'
      messages.push({ type, message: this.#rest.subarray(0, length) })
      this.#rest = this.#rest.subarray(length)
      this.#isStarted = true
    }
  }
}
