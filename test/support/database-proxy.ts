import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface Fault {
  /**
   * Index of the statement, counted from {@link DatabaseProxy.inject}; or the commit of the first connection whose
   * statements contain this text.
   */
  at: number | { commitOf: string }
  /** `before`: PostgreSQL has not received the statement. `after`: the client has not received the answer. */
  when: 'before' | 'after'
  /**
   * `stop` passes nothing on any more, as if the client's process were suspended. `cut` closes the connection. `outage`
   * closes all connections and refuses new ones.
   */
  what: 'stop' | 'cut' | 'outage'
}

/** A proxy between a client and PostgreSQL that injects failures. */
export interface DatabaseProxy {
  url: string
  /** Name of the proxy's connections in `pg_stat_activity`. */
  application: string
  /** Injects one failure. Resolves once it has happened. */
  inject(fault: Fault): Promise<void>
  /** Ends the failure, or cancels one that has not happened yet. */
  recover(): void
  /** Delays each answer. */
  delay(ms: number): void
  /** Open connections: the number now, and the highest so far. */
  connections(): { now: number; most: number }
  stop(): Promise<void>
}

let proxies = 0

/** Message types of PostgreSQL: SYNC and QUERY end a request, PARTS come before its end, READY ends an answer. */
const SYNC = 'S'
const QUERY = 'Q'
const PARTS = 'PBDECH'
const READY = 'Z'

export async function openProxy(serverUrl: string): Promise<DatabaseProxy> {
  const target = new URL(serverUrl)
  const proxy = new ProxyState()
  const server = createServer(client => {
    if (proxy.isOut) return void client.destroy()
    proxy.add(client, connect(Number(target.port), target.hostname))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const url = new URL(serverUrl)
  url.port = String(typeof address === 'object' && address !== null ? address.port : 0)
  const application = `proxy-${process.pid}-${proxies++}`
  url.searchParams.set('application_name', application)
  return {
    url: url.href,
    application,
    inject: fault => proxy.inject(fault),
    recover: () => proxy.recover(),
    delay: ms => proxy.delay(ms),
    connections: () => proxy.connections(),
    async stop() {
      proxy.end()
      server.close()
      await once(server, 'close')
    },
  }
}

class ProxyState {
  readonly #all = new Set<Connection>()
  #most = 0
  #fault: (Fault & { met: () => void }) | null = null
  #seen = 0
  delayMs = 0
  isStopped = false
  isOut = false

  add(client: Socket, upstream: Socket): void {
    const connection = new Connection(this, client, upstream)
    this.#all.add(connection)
    this.#most = Math.max(this.#most, this.#all.size)
    connection.closed.then(() => this.#all.delete(connection))
  }

  inject(fault: Fault): Promise<void> {
    this.#seen = 0
    return new Promise(met => {
      this.#fault = { ...fault, met }
    })
  }

  /** Counts a statement. Returns the failure to inject at it. */
  of(statement: Buffer, connection: Connection): Fault | null {
    const index = this.#seen++
    const fault = this.#fault
    if (fault === null) return null
    const { at } = fault
    if (typeof at !== 'number' && statement.includes(at.commitOf)) connection.isTarget = true
    return (typeof at === 'number' ? index === at : connection.isTarget && statement.includes('COMMIT')) ? fault : null
  }

  strike({ what }: Fault, struck: Connection): void {
    const met = this.#fault?.met
    this.#fault = null
    if (what === 'stop') this.isStopped = true
    if (what === 'cut') struck.cut()
    if (what === 'outage') {
      this.isOut = true
      for (const connection of this.#all) connection.cut()
    }
    met?.()
  }

  recover(): void {
    this.#fault = null
    this.isStopped = false
    this.isOut = false
    for (const connection of this.#all) connection.pass()
  }

  delay(ms: number): void {
    this.delayMs = ms
  }

  connections(): { now: number; most: number } {
    return { now: this.#all.size, most: this.#most }
  }

  end(): void {
    for (const connection of this.#all) connection.cut()
  }
}

class Connection {
  readonly #proxy: ProxyState
  readonly #client: Socket
  readonly #upstream: Socket
  readonly #up: Buffer[] = []
  readonly #down: Buffer[] = []
  readonly #asked = new Messages(false)
  readonly #answers = new Messages(true)
  /** Answers that the client has asked for, and complete ones. The first is that to the startup message. */
  #asks = 1
  #complete = 0
  /** Messages received so far of the current statement. */
  #statement: Buffer[] = []
  /** The number of answers that must be complete before the failure happens. */
  #answer: { number: number; fault: Fault } | null = null
  #isEnded = false
  /** True once this connection has sent the text in `commitOf`. */
  isTarget = false
  readonly closed: Promise<void>

  constructor(proxy: ProxyState, client: Socket, upstream: Socket) {
    this.#proxy = proxy
    this.#client = client
    this.#upstream = upstream
    client.setNoDelay(true)
    upstream.setNoDelay(true)
    this.closed = new Promise(resolve => client.once('close', () => resolve()))
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

  pass(): void {
    if (this.#proxy.isStopped || this.#client.destroyed) return
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
      const isStatement = type === QUERY || type === SYNC
      if (isStatement) this.#asks++
      const fault = isStatement && !this.#proxy.isStopped ? this.#proxy.of(statement, this) : null
      // The client sends some statements before it has the answers to earlier ones, which must pass.
      if (fault?.when === 'before') this.pass()
      this.#up.push(statement)
      if (fault?.when === 'before') this.#proxy.strike(fault, this)
      else if (fault !== null) this.#answer = { number: this.#asks, fault }
    }
    this.pass()
  }

  #receive(bytes: Buffer): void {
    this.#down.push(bytes)
    this.#complete += this.#answers.take(bytes).filter(({ type }) => type === READY).length
    if (this.#answer !== null) {
      const { number, fault } = this.#answer
      if (this.#complete < number) return
      this.#answer = null
      this.#proxy.strike(fault, this)
    }
    if (this.#proxy.delayMs === 0) this.pass()
    else setTimeout(() => this.pass(), this.#proxy.delayMs)
  }
}

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
