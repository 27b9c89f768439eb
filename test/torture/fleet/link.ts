import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A TCP port in front of a node, under which the other nodes reach it. */
export class Link {
  readonly #server: Server
  readonly #target: number
  readonly #sockets = new Set<Socket>()
  readonly #used = new Set<() => void>()
  readonly port: number
  /** True while data stays in the link. */
  #isHeld = false

  private constructor(server: Server, target: number) {
    this.#server = server
    this.#target = target
    this.port = (server.address() as AddressInfo).port
    server.on('connection', socket => this.#connect(socket))
  }

  /** The caller ends it with {@link refuse}. */
  static async open(target: number): Promise<Link> {
    const server = createServer()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return new Link(server, target)
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Refuses all connections, as between two parts of a network. */
  async refuse(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  async accept(): Promise<void> {
    this.#isHeld = false
    await once(this.#server.listen(this.port, '127.0.0.1'), 'listening')
  }

  /** Loses all answers from now on, as a network that drops packets. {@link pass} ends it. */
  drop(): void {
    this.#isHeld = true
  }

  /** Passes everything on again, over new connections. */
  pass(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#isHeld = false
  }

  /** Ends the link, which may refuse connections already. */
  async close(): Promise<void> {
    if (this.#server.listening) await this.refuse()
  }

  /** Passes nothing on from the next answer on. Resolves with that answer. */
  hold(): Promise<void> {
    return new Promise(resolve => {
      this.#used.add(resolve)
    })
  }

  #connect(from: Socket): void {
    const to = connect(this.#target, '127.0.0.1')
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      this.#sockets.add(one)
      one
        .on('error', () => undefined)
        .on('close', () => {
          this.#sockets.delete(one)
          other.destroy()
        })
    }
    from.on('data', bytes => to.write(bytes))
    to.on('data', bytes => {
      if (this.#used.size > 0) this.#isHeld = true
      for (const used of this.#used) used()
      this.#used.clear()
      if (!this.#isHeld) from.write(bytes)
    })
  }
}
