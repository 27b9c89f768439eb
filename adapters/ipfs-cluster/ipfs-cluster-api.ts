import type { Static, TSchema } from 'typebox'
import { Deadline, within } from '../../src/concurrency/deadline.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import { linesOf } from '../../src/domain/lines.ts'
import type { HttpAnswer, HttpClient, HttpRequest } from '../remote/http-client.ts'
import { shortened } from '../remote/json-answers.ts'
import {
  addedSchema,
  clusterPinSchema,
  clusterRefusal,
  metricsSchema,
  noClusterAnswer,
  parseClusterAnswer,
  peerSchema,
  statusSchema,
} from './ipfs-cluster-answers.ts'

/** How long an answer to anything but an upload may take in all. */
const ASK_MS = 60_000
/** Of what is told of one pin, or of one peer. */
const LONGEST_LINE = 1024 * 1024
/** A list that does not go on for so long has ended badly. */
const LIST_STALL_MS = 120_000

export type ClusterPin = Static<typeof clusterPinSchema>
export type PinPeers = Static<typeof statusSchema>['peer_map']

/** How something is to be pinned. */
export interface PinWish {
  name: string
  metadata: Readonly<Record<string, string>>
  /** Both -1 for all peers; null leaves both to the cluster. */
  replication: Replication | null
  /** Multiaddrs, with the id of the peer, of who has it. */
  origins?: readonly string[]
  /** Ids of the peers that are to have it first of all. */
  peers?: readonly string[]
}

/** Blocks that are handed over. */
export interface ClusterImport {
  root: string
  form: { type: string; body: AsyncIterable<Uint8Array> }
  replication: Replication | null
  /** Ids of the peers that are to take them first of all. */
  peers: readonly string[]
  signal: AbortSignal
}

export interface Replication {
  min: number
  max: number
}

export interface IpfsClusterApiOptions {
  /** The base of the REST API of one of its peers, without a trailing slash. */
  url: string
  /** What the header `Authorization` has; null if it asks for none. */
  authorization: string | null
  http: Pick<HttpClient, 'send' | 'stream'>
  clock: Clock
}

/** The REST API of an IPFS Cluster. Everything rejects with `UNAVAILABLE` where it is not answered as it should be. */
export class IpfsClusterApi {
  readonly #options: IpfsClusterApiOptions

  constructor(options: IpfsClusterApiOptions) {
    this.#options = options
  }

  /** What is to be pinned of a CID; null if it is not. */
  async pinOf(cid: string, signal: AbortSignal): Promise<ClusterPin | null> {
    try {
      return parseClusterAnswer(clusterPinSchema, await this.#ask('GET', `/allocations/${cid}`, signal))
    } catch (error) {
      if (isHoldfastError(error, 'NOT_FOUND')) return null
      throw error
    }
  }

  /** Everything that is to be pinned. @throws why it cannot be told: what has been told until then is not all */
  pins(signal: AbortSignal): AsyncGenerator<ClusterPin, void, undefined> {
    return this.#list('/allocations', clusterPinSchema, signal)
  }

  /** What each peer says of some CIDs, by CID; one that is not told of is left out. */
  async statuses(cids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, PinPeers>> {
    const text = await this.#ask('GET', `/pins?${new URLSearchParams({ cids: cids.join(',') })}`, signal)
    const lines = text.split('\n').filter(line => line.trim() !== '')
    const all = lines.map(line => parseClusterAnswer(statusSchema, line))
    return new Map(all.map(({ cid, peer_map }) => [cid, peer_map]))
  }

  /** Asks for a pin, in the place of what is pinned of the CID. */
  async pin(cid: string, wish: PinWish, signal: AbortSignal): Promise<void> {
    await this.#ask('POST', `/pins/${cid}?${queryOf(wish)}`, signal)
  }

  async unpin(cid: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#ask('DELETE', `/pins/${cid}`, signal)
    } catch (error) {
      if (!isHoldfastError(error, 'NOT_FOUND')) throw error
    }
  }

  /** Has peers that have failed to pin it try again. */
  async recover(cid: string, signal: AbortSignal): Promise<void> {
    await this.#ask('POST', `/pins/${cid}/recover`, signal)
  }

  /**
   * Hands blocks over, without pinning anything.
   *
   * @param upload.form a CAR with one root, as the only file of a form
   * @returns the peers that were to take them
   */
  async add({ root, form, replication, peers, signal }: ClusterImport): Promise<readonly string[]> {
    const query = new URLSearchParams({
      // As a stream, it would answer 200 first, and errors after everything else.
      'stream-channels': 'false',
      'no-pin': 'true',
      format: 'car',
      ...replicationQuery(replication),
      ...(peers.length > 0 && { 'user-allocations': peers.join(',') }),
    })
    const request = this.#request('POST', `/add?${query}`, signal)
    const headers = { ...request.headers, 'content-type': form.type }
    const answer = await this.#options.http.send({ ...request, headers, body: form.body })
    if (!isDone(answer)) throw clusterRefusal(answer)
    const last = parseClusterAnswer(addedSchema, answer.text).at(-1)
    if (last?.cid !== root) throw noClusterAnswer()
    return last.allocations ?? []
  }

  /** Its peers, with what is wrong with each, or null. */
  async peers(signal: AbortSignal): Promise<ReadonlyMap<string, string | null>> {
    const peers = new Map<string, string | null>()
    for await (const { id, error, ipfs } of this.#list('/peers', peerSchema, signal)) {
      const wrong = [error, ipfs?.error ?? ''].find(text => text !== '')
      peers.set(id, wrong === undefined ? null : shortened(wrong))
    }
    return peers
  }

  /** Bytes that peers have left, as far as they tell, by the peer's id. */
  async freeSpace(signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
    const metrics = parseClusterAnswer(metricsSchema, await this.#ask('GET', '/monitor/metrics/freespace', signal))
    const numbers = metrics.flatMap(({ peer, value, valid }) => (valid ? [[peer, Number(value)] as const] : []))
    return new Map(numbers.filter(([, value]) => Number.isSafeInteger(value) && value >= 0))
  }

  async #ask(method: HttpRequest['method'], path: string, signal: AbortSignal): Promise<string> {
    const { clock, http } = this.#options
    const late = () => new HoldfastError('UNAVAILABLE', 'the IPFS Cluster did not answer in time')
    const answer = await within({ clock, ms: ASK_MS, late, signal }, ended => {
      return http.send(this.#request(method, path, ended))
    })
    if (!isDone(answer)) throw clusterRefusal(answer)
    checkTrailers(answer.trailers)
    return answer.text
  }

  /** An object on each line. */
  async *#list<Schema extends TSchema>(
    path: string,
    schema: Schema,
    signal: AbortSignal,
  ): AsyncGenerator<Static<Schema>, void, undefined> {
    const { clock, http } = this.#options
    const late = () => new HoldfastError('UNAVAILABLE', 'the IPFS Cluster did not go on in time')
    const deadline = new Deadline({ clock, ms: LIST_STALL_MS, late, signal })
    try {
      const { status, body, trailers } = await http.stream(this.#request('GET', path, deadline.signal))
      for await (const line of linesOf(body, { longest: LONGEST_LINE, tooLong: noClusterAnswer })) {
        if (!isDone({ status })) throw clusterRefusal({ status, text: line })
        // Nobody stalls who is waited for.
        deadline.rest()
        yield parseClusterAnswer(schema, line)
        deadline.moved()
      }
      if (!isDone({ status })) throw clusterRefusal({ status, text: '' })
      checkTrailers(trailers())
    } finally {
      deadline.rest()
    }
  }

  #request(method: HttpRequest['method'], path: string, signal: AbortSignal): HttpRequest {
    const { url, authorization } = this.#options
    return { method, url: `${url}${path}`, headers: authorization === null ? {} : { authorization }, signal }
  }
}

function isDone({ status }: Pick<HttpAnswer, 'status'>): boolean {
  return status >= 200 && status < 300
}

/** What has gone wrong after the first line comes after the last. */
function checkTrailers(trailers: HttpAnswer['trailers']): void {
  const error = trailers?.['x-stream-error'] ?? ''
  if (error !== '') throw new HoldfastError('UNAVAILABLE', `the IPFS Cluster broke off: ${shortened(error)}`)
}

function replicationQuery(replication: Replication | null): Record<string, string> {
  if (replication === null) return {}
  return { 'replication-min': String(replication.min), 'replication-max': String(replication.max) }
}

function queryOf({ name, metadata, replication, origins = [], peers = [] }: PinWish): URLSearchParams {
  return new URLSearchParams({
    name,
    mode: 'recursive',
    ...Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`meta-${key}`, value])),
    ...replicationQuery(replication),
    ...(origins.length > 0 && { origins: origins.join(',') }),
    ...(peers.length > 0 && { 'user-allocations': peers.join(',') }),
  })
}
