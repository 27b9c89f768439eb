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

/** Timeout in ms for every request except uploads and lists. */
const ASK_MS = 60_000
/** In bytes. A line contains one pin or one peer. */
const LONGEST_LINE = 1024 * 1024
/** Ms without a new line after which the read of a list fails. */
const LIST_STALL_MS = 120_000

export type ClusterPin = Static<typeof clusterPinSchema>
export type PinPeers = Static<typeof statusSchema>['peer_map']

export interface PinOptions {
  name: string
  metadata: Readonly<Record<string, string>>
  /** If both factors are -1, all peers must have the content. Null uses the setting of the cluster. */
  replication: Replication | null
  /** Multiaddrs, with peer id, of peers that have the content. */
  origins?: readonly string[]
  /** Ids of peers that the cluster should prefer. */
  peers?: readonly string[]
}

export interface ClusterImport {
  root: string
  form: { type: string; body: AsyncIterable<Uint8Array> }
  replication: Replication | null
  /** Ids of peers that the cluster should prefer. */
  peers: readonly string[]
  signal: AbortSignal
}

export interface Replication {
  min: number
  max: number
}

export interface IpfsClusterApiOptions {
  /** URL of the REST API of one peer, without a trailing slash. */
  url: string
  /** Null if the API needs no `Authorization` header. */
  authorization: string | null
  http: Pick<HttpClient, 'send' | 'stream'>
  clock: Clock
}

/** If an answer is invalid, every method rejects with `UNAVAILABLE`. */
export class IpfsClusterApi {
  readonly #options: IpfsClusterApiOptions

  constructor(options: IpfsClusterApiOptions) {
    this.#options = options
  }

  async pinOf(cid: string, signal: AbortSignal): Promise<ClusterPin | null> {
    try {
      return parseClusterAnswer(clusterPinSchema, await this.#ask('GET', `/allocations/${cid}`, signal))
    } catch (error) {
      if (isHoldfastError(error, 'NOT_FOUND')) return null
      throw error
    }
  }

  /** Throws a HoldfastError `UNAVAILABLE` if the list breaks off before its end. */
  pins(signal: AbortSignal): AsyncGenerator<ClusterPin, void, undefined> {
    return this.#list('/allocations', clusterPinSchema, signal)
  }

  /** Returns the status of each peer by CID, without the CIDs that the cluster does not report. */
  async statuses(cids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, PinPeers>> {
    const text = await this.#ask('GET', `/pins?${new URLSearchParams({ cids: cids.join(',') })}`, signal)
    const lines = text.split('\n').filter(line => line.trim() !== '')
    const all = lines.map(line => parseClusterAnswer(statusSchema, line))
    return new Map(all.map(({ cid, peer_map }) => [cid, peer_map]))
  }

  /** Creates the pin of a CID, or replaces its existing pin. */
  async pin(cid: string, options: PinOptions, signal: AbortSignal): Promise<void> {
    await this.#ask('POST', `/pins/${cid}?${queryOf(options)}`, signal)
  }

  async unpin(cid: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#ask('DELETE', `/pins/${cid}`, signal)
    } catch (error) {
      if (!isHoldfastError(error, 'NOT_FOUND')) throw error
    }
  }

  /** Makes the peers with a failed pin retry. */
  async recover(cid: string, signal: AbortSignal): Promise<void> {
    await this.#ask('POST', `/pins/${cid}/recover`, signal)
  }

  /**
   * Uploads blocks without pinning them.
   * @param upload.form a form whose only file is a CAR with one root
   * @returns the peers to which the cluster assigned the blocks
   */
  async add({ root, form, replication, peers, signal }: ClusterImport): Promise<readonly string[]> {
    const query = new URLSearchParams({
      // A streamed answer would have status 200 even if an error follows.
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

  /** Returns the error of each peer by its id. The error is null if the peer works. */
  async peers(signal: AbortSignal): Promise<ReadonlyMap<string, string | null>> {
    const peers = new Map<string, string | null>()
    for await (const { id, error, ipfs } of this.#list('/peers', peerSchema, signal)) {
      const wrong = [error, ipfs?.error ?? ''].find(text => text !== '')
      peers.set(id, wrong === undefined ? null : shortened(wrong))
    }
    return peers
  }

  /** Returns bytes by peer id, for the peers that report free space. */
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
        // Stop the timeout while the consumer works.
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

/** Throws the error in the trailers, where the server reports errors that occur after the first line. */
function checkTrailers(trailers: HttpAnswer['trailers']): void {
  const error = trailers?.['x-stream-error'] ?? ''
  if (error !== '') throw new HoldfastError('UNAVAILABLE', `the IPFS Cluster broke off: ${shortened(error)}`)
}

function replicationQuery(replication: Replication | null): Record<string, string> {
  if (replication === null) return {}
  return { 'replication-min': String(replication.min), 'replication-max': String(replication.max) }
}

function queryOf({ name, metadata, replication, origins = [], peers = [] }: PinOptions): URLSearchParams {
  return new URLSearchParams({
    name,
    mode: 'recursive',
    ...Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`meta-${key}`, value])),
    ...replicationQuery(replication),
    ...(origins.length > 0 && { origins: origins.join(',') }),
    ...(peers.length > 0 && { 'user-allocations': peers.join(',') }),
  })
}
