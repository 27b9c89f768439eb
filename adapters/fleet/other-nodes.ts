import type { ClusterRegistry } from '../../src/clusters/cluster-registry.ts'
import type { Slots } from '../../src/concurrency/slots/slots.ts'
import { inUploadSlot } from '../../src/contract/uploads/upload-slot.ts'
import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import type { ApiRequest, ApiResponse, Forwarded } from '../../src/http/api-messages.ts'
import type { OtherNodes } from '../../src/http/pipeline.ts'
import type { AuthenticatedContext, GoesTo, HandedOver } from '../../src/http/route.ts'
import { StreamBody } from '../../src/http/stream-body.ts'
import type { FleetMember } from '../../src/nodes/fleet-system.ts'
import { targetOf } from './forwarded.ts'
import type { NodeAnswer } from './node-client.ts'
import type { FleetRequest, NodeSender } from './node-sender.ts'
import { requestedCluster, withWhole } from './requested-cluster.ts'

export interface OtherNodesParts {
  clusters: Pick<ClusterRegistry, 'mayReceive' | 'defaultCluster'>
  receiverOf: FleetMember['receiverOf']
  sender: Pick<NodeSender, 'send'>
  /** Slots for requests whose bodies are forwarded while they arrive. Each account has its own slots. */
  slots: Pick<Slots, 'enter'>
  /**
   * Slots for uploads that this node has received and hands over to another node.
   * A forwarded request in `slots` may wait until the receiving node hands over the upload. With shared slots, two
   * nodes could therefore block each other.
   */
  handOvers: Pick<Slots, 'enter'>
}

/** Maximum bytes to read of the error of a node that refuses an upload. */
const LONGEST_ERROR = 1024 * 1024

/**
 * Headers that are forwarded, because an answer may depend on them. The proof contains the client's address, scheme and
 * host.
 */
const HEADERS = [
  'accept',
  'authorization',
  'content-encoding',
  'content-length',
  'content-type',
  'holdfast-node',
  'prefer',
  'user-agent',
  'x-api-key',
  'x-cluster',
  'x-request-source',
]

/**
 * Forwards requests to the node of their cluster, with the client's credential and without changes.
 * A form may name its cluster only after a large file. This node then receives the whole upload, and sends it to the
 * right node as a new form.
 */
export class ForwardingNodes implements OtherNodes {
  readonly #parts: OtherNodesParts

  constructor(parts: OtherNodesParts) {
    this.#parts = parts
  }

  /**
   * Returns the answer of the cluster's node. If this node has the cluster, returns the context with the complete
   * request instead.
   * @throws HoldfastError `UNAVAILABLE` if the other node is down; `OUTCOME_UNKNOWN` if its answer was lost
   */
  async answer(context: AuthenticatedContext, goesTo: GoesTo): Promise<ApiResponse | AuthenticatedContext> {
    const { principal, request } = context
    const { clusters, receiverOf } = this.#parts
    const requested = goesTo === 'cluster' ? await requestedCluster(context) : { cluster: undefined, request }
    const fixed = principal.credential.upload?.cluster
    const cluster = fixed ?? requested.cluster ?? principal.account.defaultCluster ?? clusters.defaultCluster
    const here = { ...context, request: requested.request }
    // The nodes may disagree for a moment on which one is up.
    const isTaken = request.forwarded !== undefined && clusters.mayReceive(cluster)
    const node = isTaken ? null : await receiverOf(cluster)
    if (isTaken && request.forwarded?.isDecided === true) return here
    if (node === null) return { ...here, handOver: form => this.#handOver(form, cluster, here) }
    if (request.forwarded !== undefined) throw clusterMismatch(request.forwarded, node)
    const passed = await this.#pass(node, cluster, here)
    if ('status' in passed) return passed
    const kept = { ...here, request: passed.arrived === null ? here.request : withWhole(here.request, passed.arrived) }
    return { ...kept, handOver: form => this.#handOver(form, cluster, kept) }
  }

  /** Returns the unread request if the next node of the cluster is this one. */
  #pass(
    first: string,
    cluster: string,
    context: AuthenticatedContext,
  ): Promise<ApiResponse | { arrived: Uint8Array | null }> {
    const { request } = context
    return inUploadSlot(this.#parts.slots, context, async ({ body, arrived, signal }) => {
      const answer = await this.#send([first, cluster], body, unread => ({
        method: request.method,
        target: targetOf(request),
        headers: headersOf(request),
        body: request.header('content-length') === '0' ? null : (arrived ?? unread),
        signal,
        client: clientOf(context),
      }))
      if (answer === null) return { arrived }
      return { status: answer.status, headers: answer.headers, body: StreamBody.of(answer.body) }
    })
  }

  /**
   * Sends a request to the next node of its cluster if one does not take it and no byte of `body` has been read. Returns
   * null if the next node is this one.
   */
  async #send(
    [first, cluster]: [string, string],
    body: AsyncIterable<Uint8Array>,
    requestOf: (body: AsyncIterable<Uint8Array>) => FleetRequest,
  ): Promise<NodeAnswer | null> {
    const { receiverOf, sender } = this.#parts
    let isRead = false
    const noted = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
      isRead = true
      yield* body
    }
    const away = new Set<string>()
    for (let node: string | null = first; node !== null; ) {
      try {
        return await sender.send(node, requestOf(noted()))
      } catch (error) {
        if (isRead || !isHoldfastError(error, 'UNAVAILABLE')) throw error
        away.add(node)
        node = await receiverOf(cluster, away)
        if (node !== null && away.has(node)) throw error
      }
    }
    return null
  }

  async #handOver(
    { node, cluster, signal, ...form }: HandedOver,
    decided: string,
    context: AuthenticatedContext,
  ): Promise<ApiResponse> {
    const { request, principal } = context
    if (request.forwarded?.isDecided === true) throw clusterMismatch(request.forwarded, node)
    const slot = await this.#parts.handOvers.enter(principal.account.id, signal)
    try {
      const { 'content-length': _length, ...headers } = headersOf(request)
      const answer = await this.#send([node, cluster ?? decided], form.body, body => ({
        method: request.method,
        target: targetOf(request),
        headers: { ...headers, 'content-type': form.type, ...(cluster !== undefined && { 'x-cluster': cluster }) },
        body,
        signal,
        client: { ...clientOf(context), isDecided: true },
      }))
      if (answer === null) throw new HoldfastError('UNAVAILABLE', `the node ${node} does not take the upload`)
      // A node may refuse the upload before it has received the body. Read its answer now, because the rest of the body
      // is dropped.
      const body = answer.status < 400 ? StreamBody.of(answer.body) : await readError(answer.body)
      return { status: answer.status, headers: answer.headers, body }
    } finally {
      slot.leave()
    }
  }
}

function clusterMismatch({ node }: Forwarded, other: string): HoldfastError {
  const reason = `${node} forwarded a request to this node, which finds the cluster on ${other}`
  return new HoldfastError('UNAVAILABLE', `the nodes disagree on which of them keeps the cluster: ${reason}`)
}

function clientOf({ request, requestId }: AuthenticatedContext): FleetRequest['client'] {
  return {
    requestId,
    client: request.remoteAddress ?? null,
    scheme: request.scheme ?? null,
    host: request.header('host') ?? null,
  }
}

async function readError(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of body) {
    pieces.push(piece)
    length += piece.length
    if (length > LONGEST_ERROR) break
  }
  return Buffer.concat(pieces)
}

function headersOf(request: ApiRequest): Record<string, string> {
  const given = HEADERS.flatMap(name => {
    const value = request.header(name)
    return value === undefined ? [] : [[name, value]]
  })
  return Object.fromEntries(given)
}
