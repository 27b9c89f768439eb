import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { holdBlock } from '../../../adapters/kubo/hold-block.ts'
import type { BackendDefinition } from '../../../src/domain/cluster.ts'
import { identityOf, parseCid } from '../../../src/ipld/cid.ts'
import { HOLD } from '../../../src/pins/placement/placement-attempt.ts'
import type { Kubo } from '../../interop/kubo.ts'
import { sha256Hex } from '../../support/bytes.ts'
import type { Draws } from '../../support/draws.ts'
import { makeKubo, placesOf, TOKEN } from '../../support/kubo.ts'
import type { Foreign, Liar, Place, PlacedPin } from './place.ts'
import { ApiProxy, type Asked } from './proxy.ts'

const API = '/api/v0/'
/** CID that every new repository has pinned. */
const EMPTY_DIRECTORY = 'QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3Nn'
/** Limit of a pin that may have to search for missing blocks, in ms. */
const WALK_MS = 10_000

/** A Kubo with its own repository. */
export class KuboPlace implements Place {
  readonly blows = ['kill the Kubo'] as const
  readonly forgetful = []
  readonly copies = 1
  readonly proxy: ApiProxy
  readonly #gateway: ApiProxy
  readonly #binary: string
  readonly #repository: string
  #kubo: Kubo
  #isUp = false

  private constructor(proxies: { api: ApiProxy; gateway: ApiProxy }, kubo: Kubo, binary: string, repository: string) {
    this.proxy = proxies.api
    this.#gateway = proxies.gateway
    this.#kubo = kubo
    this.#binary = binary
    this.#repository = repository
  }

  static async start(binary: string, dir: string): Promise<KuboPlace> {
    const repository = join(dir, 'kubo')
    const kubo = await makeKubo(binary, repository)
    const place = new KuboPlace(
      { api: await ApiProxy.start(), gateway: await ApiProxy.start() },
      kubo,
      binary,
      repository,
    )
    await place.recover()
    return place
  }

  get backend(): BackendDefinition {
    return { type: 'kubo', api: this.proxy.base, authEnv: 'TORTURE_AUTH', gateways: this.gateways }
  }

  readonly auth = `bearer:${TOKEN}`

  get gateways(): readonly string[] {
    return [this.#gateway.base]
  }

  async strike(): Promise<void> {
    this.#isUp = false
    await this.#kubo.stop('SIGKILL')
  }

  async recover(): Promise<void> {
    if (this.#isUp) return
    await this.#kubo.start()
    this.#isUp = true
    const { api, gateway } = placesOf(this.#repository)
    this.proxy.target = api
    this.#gateway.target = gateway
  }

  async settle(): Promise<void> {}

  async pins(): Promise<PlacedPin[]> {
    const text = await this.#ask('pin/ls?type=recursive&names=true&stream=true')
    const lines = text.split('\n').filter(line => line !== '')
    const pins = lines.map(line => JSON.parse(line) as { Cid: string; Name?: string })
    return pins.flatMap(({ Cid: cid, Name: name = '' }) =>
      cid === EMPTY_DIRECTORY ? [] : [{ cid, name, isKept: true }],
    )
  }

  async add(content: Buffer, name: string): Promise<Foreign> {
    const body = new FormData()
    body.set('file', new Blob([new Uint8Array(content)]))
    const text = await this.#ask(`add?pin=true&pin-name=${name}&cid-version=1&raw-leaves=true&progress=false`, body)
    return { cid: (JSON.parse(text) as { Hash: string }).Hash, hash: sha256Hex(content) }
  }

  async pinByHand(cid: string, name: string): Promise<boolean> {
    try {
      await this.#ask(`pin/add?arg=${cid}&name=${encodeURIComponent(name)}`, null, WALK_MS)
      return true
    } catch {
      return false
    }
  }

  async unpinByHand(cid: string): Promise<void> {
    await this.#ask(`pin/rm?arg=${cid}`)
  }

  async pinAsMarked(mark: string, root: string): Promise<void> {
    const block = await holdBlock(mark, HOLD, identityOf(parseCid(root)))
    const body = new FormData()
    body.set('data', new Blob([new Uint8Array(block.bytes)]))
    await this.#ask('block/put?cid-codec=dag-cbor', body)
    await this.#ask(`pin/add?arg=${block.cid}&name=${encodeURIComponent(block.name)}`, null, WALK_MS)
  }

  async hashesOf(cid: string, path: string): Promise<Array<string | null>> {
    const target = [cid, ...path.split('/').filter(part => part !== '')].map(encodeURIComponent).join('/')
    const answer = await fetch(`${this.#gateway.target}/ipfs/${target}`)
    const bytes = Buffer.from(await answer.arrayBuffer())
    return [answer.status === 200 ? sha256Hex(bytes) : null]
  }

  async collect(): Promise<void> {
    await this.#ask('repo/gc?quiet=true')
  }

  async loseAll(): Promise<void> {
    await this.strike()
    await rm(this.#repository, { recursive: true })
    this.#kubo = await makeKubo(this.#binary, this.#repository)
    await this.recover()
  }

  isPinRequest({ url }: Asked): boolean {
    return url.pathname === `${API}pin/add`
  }

  isUnpinRequest({ url }: Asked): boolean {
    return url.pathname === `${API}pin/rm`
  }

  liar(draws: Draws): Liar {
    const said = new Map<string, string>()
    const told = (cid: string) => ({ status: 200, body: `${JSON.stringify({ Pins: [cid] })}\n` })
    const late = { trailers: { 'x-stream-error': 'the disk is full' } }
    return draws.pick<Liar>([
      {
        name: 'confirms and lists a pin that it does not have',
        judge: asked => {
          const cid = asked.url.searchParams.get('arg') ?? ''
          if (this.isPinRequest(asked)) {
            said.set(cid, asked.url.searchParams.get('name') ?? '')
            return told(cid)
          }
          const name = said.get(cid)
          if (asked.url.pathname !== `${API}pin/ls` || name === undefined) return 'pass'
          return { status: 200, body: JSON.stringify({ Keys: { [cid]: { Type: 'recursive', Name: name } } }) }
        },
      },
      {
        name: 'confirms a pin, then reports an error in the trailer',
        judge: asked =>
          this.isPinRequest(asked) ? { ...told(asked.url.searchParams.get('arg') ?? ''), ...late } : 'pass',
      },
      {
        name: 'confirms an unpin and keeps the pin',
        judge: asked => (this.isUnpinRequest(asked) ? told(asked.url.searchParams.get('arg') ?? '') : 'pass'),
      },
    ])
  }

  async stop(): Promise<void> {
    await this.#kubo.stop()
    await this.proxy[Symbol.asyncDispose]()
    await this.#gateway[Symbol.asyncDispose]()
  }

  async #ask(command: string, body: FormData | null = null, ms = 60_000): Promise<string> {
    const answer = await fetch(`${this.proxy.target}${API}${command}`, {
      ...{ method: 'POST', body, signal: AbortSignal.timeout(ms) },
      headers: { authorization: `Bearer ${TOKEN}` },
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${command}: ${answer.status} ${text}`)
    return text
  }
}
