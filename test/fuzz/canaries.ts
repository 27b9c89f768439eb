import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AbusedServer } from '../abuse/abused-server.ts'
import { carOf } from '../content/car/support/cars.ts'
import { directoryOf, fileOf, leaf } from '../pins/fetches/support/dags.ts'
import { pseudoRandom } from '../support/bytes.ts'

/** Text in the private content, and in the name of a file. Requests never have it. */
const CANARY = 'canary of private content'
const secretLeaf = (seed: string): ReturnType<typeof leaf> =>
  leaf(Buffer.concat([Buffer.from(CANARY), pseudoRandom(3_000, seed)]))

/** Private content of an account that sends no requests. A file of it is public in other content. */
export const SECRET = directoryOf({
  [CANARY]: secretLeaf('named'),
  'a file': fileOf(['one', 'two', 'three'].map(secretLeaf)),
  dir: directoryOf({ b: leaf(pseudoRandom(100, 'b')), 'index.html': secretLeaf('index') }),
})

/** The canary as an answer may have it: as it is, or in base64 at any place. */
const FORMS = [
  CANARY,
  ...[0, 1, 2].map(before => {
    const text = Buffer.from(' '.repeat(before) + CANARY).toString('base64')
    // The first and the last characters also have bits of what is around the canary.
    return text.slice(before === 0 ? 0 : 4, -4)
  }),
]

export function hasCanary(text: string): boolean {
  return FORMS.some(form => text.includes(form))
}

/** Private content with canaries on a server, and what the server has sent to webhooks of other accounts. */
export class Canaries {
  /** Key of an account that is neither the owner nor the one with the private content. */
  readonly otherKey: string
  readonly #key: string
  readonly #server: AbusedServer
  readonly #hooks: Server
  readonly #sent: string[]

  private constructor(server: AbusedServer, hooks: Server, keys: { key: string; otherKey: string; sent: string[] }) {
    this.#server = server
    this.#hooks = hooks
    this.#key = keys.key
    this.otherKey = keys.otherKey
    this.#sent = keys.sent
  }

  static async plant(server: AbusedServer): Promise<Canaries> {
    const newKey = async (email: string): Promise<string> => {
      const { status, body } = await server.askJson('POST', '/admin/v1/accounts', { email, plan: 'unlimited' })
      if (status !== 201) throw new Error(`no account was created: ${status} ${body}`)
      return JSON.parse(String(body)).token
    }
    const [key, otherKey] = [await newKey('private@example.org'), await newKey('other@example.org')]
    const { status, body } = await server.ask('/api/v3/files/car?visibility=private', {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.ipld.car', 'x-api-key': key },
      body: await carOf([SECRET.root], SECRET.blocks),
    })
    if (status !== 201) throw new Error(`the private content was refused: ${status} ${body}`)
    const sent: string[] = []
    const hooks = createServer(async (request, response) => {
      for await (const chunk of request) sent.push(String(chunk))
      response.end()
    })
    hooks.listen(0, '127.0.0.1')
    await once(hooks, 'listening')
    const url = `http://127.0.0.1:${(hooks.address() as AddressInfo).port}/`
    for (const apiKey of [server.key, otherKey]) {
      const made = await server.ask('/api/v3/webhooks', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
        body: JSON.stringify({ url }),
      })
      if (made.status !== 201) throw new Error(`no webhook was created: ${made.status} ${made.body}`)
    }
    return new Canaries(server, hooks, { key, otherKey, sent })
  }

  /** @throws Error if logs, metrics, events or figures have a canary, or if the account cannot read its content */
  async check(): Promise<void> {
    const asked = [
      '/metrics',
      '/admin/v1/stats',
      '/admin/v1/history',
      '/admin/v1/failures',
      '/admin/v1/peers',
      '/psa/pins',
    ]
    const answers = await Promise.all(
      asked.map(async path => [path, String((await this.#server.ask(path)).body)] as const),
    )
    const { stdout, stderr } = this.#server.watched.process
    for (const [name, text] of [...answers, ['log', stdout + stderr], ['webhook', this.#sent.join('')]] as const) {
      if (hasCanary(text)) throw new Error(`${name} has private content`)
    }
    if (this.#sent.length === 0) throw new Error('no webhook was called')
    const own = await this.#server.ask(`/ipfs/${SECRET.root}?format=car`, { headers: { 'x-api-key': this.#key } })
    if (!hasCanary(own.body.toString('latin1'))) throw new Error(`its account cannot read it: ${own.status}`)
  }

  async end(): Promise<void> {
    this.#hooks.closeAllConnections()
    this.#hooks.close()
    await once(this.#hooks, 'close')
  }
}
