import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** An answer as received. */
export interface WireAnswer {
  status: number
  /** Headers by lower-case name. */
  headers: ReadonlyMap<string, string>
  body: string
  // biome-ignore lint/suspicious/noExplicitAny: an answer is looked at, not typed
  json: any
}

/** A request as sent: its lines up to the last header, and its body if it has one. */
export interface WireRequest {
  head: readonly string[]
  body?: Buffer
  /** Holds the body back until the server answers `100 Continue`. */
  expectContinue?: boolean
}

/** Sends exactly these bytes on a new connection, and reads the answer up to its announced length. */
export async function exchange(port: number, { head, body, expectContinue = false }: WireRequest): Promise<WireAnswer> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    const received = new Received(socket)
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    if (expectContinue) {
      const first = await received.head()
      if (!first.startsWith('HTTP/1.1 100 ')) return await received.answer(first)
    }
    if (body !== undefined) socket.write(body)
    return await received.answer(await received.head())
  } finally {
    socket.destroy()
  }
}

/** Reads the bytes received on a socket, in order. */
class Received {
  readonly #socket: Socket
  #bytes = Buffer.alloc(0)

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk])
    })
    socket.on('error', () => {})
  }

  async head(): Promise<string> {
    let end = this.#bytes.indexOf('\r\n\r\n')
    for (; end === -1; end = this.#bytes.indexOf('\r\n\r\n')) await this.#more()
    return this.#take(end + 4).toString('latin1')
  }

  async answer(head: string): Promise<WireAnswer> {
    const [statusLine = '', ...lines] = head.trimEnd().split('\r\n')
    const headers = new Map(
      lines.map((line): [string, string] => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
    )
    assert.ok(headers.has('content-length'), `the answer announces its length: ${head}`)
    const length = Number(headers.get('content-length'))
    while (this.#bytes.length < length) await this.#more()
    const body = this.#take(length).toString()
    return {
      status: Number(statusLine.split(' ')[1]),
      headers,
      body,
      get json() {
        assert.match(headers.get('content-type') ?? '', /^application\/json\b/, `${statusLine} ${body}`)
        return JSON.parse(body)
      },
    }
  }

  #take(length: number): Buffer {
    const taken = this.#bytes.subarray(0, length)
    this.#bytes = this.#bytes.subarray(length)
    return taken
  }

  async #more(): Promise<void> {
    assert.ok(!this.#socket.readableEnded && !this.#socket.destroyed, `the connection ended: ${this.#bytes}`)
    await Promise.race([once(this.#socket, 'data'), once(this.#socket, 'end')])
  }
}
