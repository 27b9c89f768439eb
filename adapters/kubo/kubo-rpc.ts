import type { CID } from 'multiformats/cid'
import { Deadline, within } from '../../src/concurrency/deadline.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import { formBody } from '../../src/domain/form-body.ts'
import { linesOf } from '../../src/domain/lines.ts'
import { wholeUpTo } from '../../src/domain/sources.ts'
import { cidOrNull } from '../../src/ipld/cid.ts'
import type { HttpClient, HttpRequest, HttpStream } from '../remote/http-client.ts'
import { shortened } from '../remote/json-answers.ts'
import {
  blockStatSchema,
  errorIn,
  failure,
  identitySchema,
  importSchema,
  kuboConfigSchema,
  kuboPinSchema,
  noKuboAnswer,
  parseKuboAnswer,
  pinAddSchema,
  pinsSchema,
  repositorySchema,
  timeoutError,
} from './kubo-answers.ts'

/** Timeouts in ms: for a whole short answer, and for each pause within a long answer. */
const ASK_MS = 60_000
const STALL_MS = 120_000
/** In bytes. */
const LONGEST_LINE = 65_536
const LONGEST_BLOCK = 4 * 1024 * 1024
/** Stops Kubo from announcing blocks that no peer looks for. */
const UNANNOUNCED = { 'fast-provide-root': 'false' }
const NOT_PINNED = /\b(?:is not pinned|not pinned or pinned indirectly)/
const NO_BLOCK = /\bcould not find\b/

export interface KuboRpcOptions {
  /** URL without `/api/v0` and without a trailing slash. */
  url: string
  /** Null if the API needs no `Authorization` header. */
  authorization: string | null
  http: Pick<HttpClient, 'send' | 'stream'>
  clock: Clock
}

export interface KuboPin {
  cid: CID
  /** Empty if the pin has no name. */
  name: string
}

type Query = Readonly<Record<string, string>> | URLSearchParams

/** A client of Kubo's RPC API. If an answer is invalid, every method rejects with `UNAVAILABLE`. */
export class KuboRpc {
  readonly #options: KuboRpcOptions

  constructor(options: KuboRpcOptions) {
    this.#options = options
  }

  async config(path: string, signal: AbortSignal): Promise<unknown> {
    return parseKuboAnswer(kuboConfigSchema, await this.#ask('config', { arg: path }, signal)).Value
  }

  async id(signal: AbortSignal): Promise<string> {
    return parseKuboAnswer(identitySchema, await this.#ask('id', {}, signal)).ID
  }

  /** Returns the free space in bytes, up to the configured maximum size of the repository. */
  async freeBytes(signal: AbortSignal): Promise<number> {
    const text = await this.#ask('repo/stat', { 'size-only': 'true' }, signal)
    const { RepoSize, StorageMax } = parseKuboAnswer(repositorySchema, text)
    return Math.max(0, StorageMax - RepoSize)
  }

  /** Returns an empty name for a pin without a name, and null for a CID without a recursive pin. */
  async pinName(cid: CID, signal: AbortSignal): Promise<string | null> {
    const query = { arg: `${cid}`, type: 'recursive', names: 'true' }
    const text = await this.#ask('pin/ls', query, signal, NOT_PINNED)
    if (text === null) return null
    const found = Object.entries(parseKuboAnswer(pinsSchema, text).Keys).find(([key]) => isSame(key, cid))
    if (found?.[1].Type !== 'recursive') throw noKuboAnswer()
    return found[1].Name ?? ''
  }

  async pinNames(cids: readonly CID[], signal: AbortSignal): Promise<Array<string | null>> {
    const [only] = cids
    if (only !== undefined && cids.length === 1) return [await this.pinName(only, signal)]
    const query = new URLSearchParams({ type: 'recursive', names: 'true' })
    for (const cid of cids) query.append('arg', `${cid}`)
    const text = await this.#ask('pin/ls', query, signal, NOT_PINNED)
    // Kubo's error names only one of the CIDs that are not pinned. Query each CID by itself.
    if (text === null) return Promise.all(cids.map(cid => this.pinName(cid, signal)))
    const keys = Object.entries(parseKuboAnswer(pinsSchema, text).Keys)
    const named = new Map(
      keys.flatMap(([key, pin]) => (pin.Type === 'recursive' ? [[`${cidOrNull(key)}`, pin.Name ?? '']] : [])),
    )
    return cids.map(cid => named.get(`${cid}`) ?? null)
  }

  /**
   * Yields the recursive pins whose name contains a text.
   * @throws HoldfastError `UNAVAILABLE` if the list breaks off before its end
   */
  async *pins(named: string, signal: AbortSignal): AsyncGenerator<KuboPin, void, undefined> {
    const query = { type: 'recursive', names: 'true', name: named, stream: 'true' }
    const deadline = new Deadline({ clock: this.#options.clock, ms: STALL_MS, late: timeoutError, signal })
    try {
      for await (const line of this.#lines('pin/ls', query, { signal: deadline.signal })) {
        const { Cid, Name: name = '', Type: type } = parseKuboAnswer(kuboPinSchema, line)
        const cid = cidOrNull(Cid)
        deadline.rest()
        // A pin whose CID is not supported does not belong to this node.
        if (type === 'recursive' && cid !== null) yield { cid, name }
        deadline.moved()
      }
    } finally {
      deadline.rest()
    }
  }

  /**
   * Uploads blocks without pinning them. The caller must abort `signal` if the upload makes no progress.
   * @returns the number of blocks that Kubo has imported
   */
  async takeCar(car: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<number> {
    const { type, body } = formBody([{ name: 'file', filename: 'dag.car', content: car }])
    const query = { stats: 'true', 'pin-roots': 'false', 'allow-big-block': 'true', ...UNANNOUNCED }
    let count = -1
    for await (const line of this.#lines('dag/import', query, { signal, body, type })) {
      const { Root, Stats } = parseKuboAnswer(importSchema, line)
      if (Root?.PinErrorMsg !== undefined && Root.PinErrorMsg !== '') throw failure(shortened(Root.PinErrorMsg))
      count = Stats?.BlockCount ?? count
    }
    if (count < 0) throw noKuboAnswer()
    return count
  }

  /**
   * Pins a DAG recursively. Kubo first removes an existing pin of the CID. The caller must abort `signal` if
   * `onProgress` is not called for too long.
   */
  async pinAdd(cid: CID, name: string, signal: AbortSignal, onProgress: () => void): Promise<void> {
    const query = { arg: `${cid}`, name, progress: 'true', ...UNANNOUNCED }
    let most = 0
    let isDone = false
    for await (const line of this.#lines('pin/add', query, { signal })) {
      const { Progress, Pins } = parseKuboAnswer(pinAddSchema, line)
      isDone ||= Pins?.some(pinned => isSame(pinned, cid)) === true
      // Ignore reports without progress. Kubo sends them while it searches for a block.
      if (Progress === undefined || Progress <= most) continue
      most = Progress
      onProgress()
    }
    if (!isDone) throw noKuboAnswer()
  }

  async connect(address: string, signal: AbortSignal): Promise<void> {
    await this.#ask('swarm/connect', { arg: address }, signal)
  }

  /** @throws HoldfastError `NOT_FOUND` if Kubo does not have the block */
  async blockSize(cid: CID, signal: AbortSignal): Promise<number> {
    const text = await this.#ask('block/stat', { arg: `${cid}`, offline: 'true' }, signal, NO_BLOCK)
    if (text === null) throw new HoldfastError('NOT_FOUND', `block ${cid} is not in the cluster`)
    return parseKuboAnswer(blockStatSchema, text).Size
  }

  /** Does nothing if the CID is not pinned. */
  async pinRm(cid: CID, signal: AbortSignal): Promise<void> {
    await this.#ask('pin/rm', { arg: `${cid}` }, signal, NOT_PINNED)
  }

  /**
   * Returns a block without verifying it.
   * @throws HoldfastError `NOT_FOUND` if Kubo does not have the block
   */
  async block(cid: CID, signal: AbortSignal): Promise<Uint8Array> {
    const { answer, bytes } = await this.#inTime(signal, async ended => {
      const answer = await this.#send('block/get', { arg: `${cid}`, offline: 'true' }, { signal: ended })
      return { answer, bytes: await wholeUpTo(answer.body, LONGEST_BLOCK) }
    })
    if (bytes === null) throw noKuboAnswer()
    const text = answer.status === 200 ? '' : bytes.toString('utf8')
    const problem = errorIn({ status: answer.status, text, trailers: answer.trailers() })
    if (problem === null) return bytes
    if (NO_BLOCK.test(problem)) throw new HoldfastError('NOT_FOUND', `block ${cid} is not in the cluster`)
    throw failure(problem)
  }

  async #ask(command: string, query: Query, signal: AbortSignal): Promise<string>
  async #ask(command: string, query: Query, signal: AbortSignal, missing: RegExp): Promise<string | null>
  async #ask(command: string, query: Query, signal: AbortSignal, missing?: RegExp) {
    const answer = await this.#inTime(signal, ended => {
      return this.#options.http.send(this.#request(command, query, ended))
    })
    const problem = errorIn(answer)
    if (problem === null) return answer.text
    if (missing?.test(problem) === true) return null
    throw failure(problem)
  }

  #inTime<T>(signal: AbortSignal, ask: (ended: AbortSignal) => Promise<T>): Promise<T> {
    return within({ clock: this.#options.clock, ms: ASK_MS, late: timeoutError, signal }, ask)
  }

  /** Yields the lines of an answer. Throws after the last line if a trailer reports an error. */
  async *#lines(
    command: string,
    query: Query,
    options: { signal: AbortSignal; body?: AsyncIterable<Uint8Array>; type?: string },
  ): AsyncGenerator<string, void, undefined> {
    const { status, body, trailers } = await this.#send(command, query, options)
    for await (const line of linesOf(body, { longest: LONGEST_LINE, tooLong: noKuboAnswer })) {
      const problem = errorIn({ status, text: line })
      if (problem !== null) throw failure(problem)
      yield line
    }
    const problem = errorIn({ status, text: '', trailers: trailers() })
    if (problem !== null) throw failure(problem)
  }

  #send(
    command: string,
    query: Query,
    { signal, body, type }: { signal: AbortSignal; body?: AsyncIterable<Uint8Array>; type?: string },
  ): Promise<HttpStream> {
    const request = this.#request(command, query, signal)
    const headers = { ...request.headers, ...(type !== undefined && { 'content-type': type }) }
    return this.#options.http.stream({ ...request, headers, ...(body !== undefined && { body }) })
  }

  #request(command: string, query: Query, signal: AbortSignal): HttpRequest {
    const { url, authorization } = this.#options
    return {
      method: 'POST',
      url: `${url}/api/v0/${command}?${new URLSearchParams(query)}`,
      headers: authorization === null ? {} : { authorization },
      signal,
    }
  }
}

function isSame(text: string, cid: CID): boolean {
  return cidOrNull(text)?.equals(cid) === true
}
