import type { ClusterRegistry } from '../../src/clusters/cluster-registry.ts'
import type { Slots } from '../../src/concurrency/slots.ts'
import { inUploadSlot } from '../../src/contract/uploads/upload-slot.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { ApiRequest, ApiResponse, PassedOn } from '../../src/http/api-messages.ts'
import type { OtherNodes } from '../../src/http/pipeline.ts'
import type { AuthenticatedContext, GoesTo, HandedOver } from '../../src/http/route.ts'
import { StreamBody } from '../../src/http/stream-body.ts'
import { meantCluster } from './meant-cluster.ts'
import type { AskedOfNode, NodeSender } from './node-sender.ts'
import { targetOf } from './passed-on.ts'

export interface OtherNodesParts {
  clusters: Pick<ClusterRegistry, 'nodeOf' | 'defaultCluster'>
  sender: Pick<NodeSender, 'send'>
  /** Places for what is passed on as it comes, by account. */
  slots: Pick<Slots, 'enter'>
  /**
   * Places for what is handed over, by account. Others: what is passed on waits for a node that may have to hand it over,
   * so that two nodes with one kind of place could wait for each other.
   */
  handOvers: Pick<Slots, 'enter'>
}

/** What an answer that comes before all has been sent may have. */
const LONGEST_ERROR = 1024 * 1024

/** What an answer may depend on. Who asks is told by what the node itself says. */
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
 * Has the node of a cluster answer what is to be kept there: whole, as it came, with the client's own credential. A form
 * that names its cluster where that was not looked for is taken in here and handed over as another form.
 */
export class ForwardingNodes implements OtherNodes {
  readonly #parts: OtherNodesParts

  constructor(parts: OtherNodesParts) {
    this.#parts = parts
  }

  /**
   * The answer of another node; or with what this one is to answer.
   *
   * @throws HoldfastError `UNAVAILABLE` if the node is not there; `OUTCOME_UNKNOWN` if its answer was lost
   */
  async answer(context: AuthenticatedContext, goesTo: GoesTo): Promise<ApiResponse | AuthenticatedContext> {
    const { principal, request } = context
    const { clusters } = this.#parts
    const meant = goesTo === 'cluster' ? await meantCluster(context) : { cluster: undefined, request }
    const fixed = principal.credential.upload?.cluster
    const cluster = fixed ?? meant.cluster ?? principal.account.defaultCluster ?? clusters.defaultCluster
    const node = clusters.nodeOf(cluster)
    const here = { ...context, request: meant.request }
    if (node === null) return { ...here, handOver: form => this.#handOver(form, here) }
    if (request.passedOn !== undefined) throw disagreed(request.passedOn, node)
    return this.#pass(node, here)
  }

  #pass(node: string, context: AuthenticatedContext): Promise<ApiResponse> {
    const { request } = context
    return inUploadSlot(this.#parts.slots, context, async ({ body, arrived, signal }) => {
      const answer = await this.#parts.sender.send(node, {
        method: request.method,
        target: targetOf(request),
        headers: headersOf(request),
        body: request.header('content-length') === '0' ? null : (arrived ?? body),
        signal,
        client: clientOf(context),
      })
      return { status: answer.status, headers: answer.headers, body: StreamBody.of(answer.body) }
    })
  }

  async #handOver({ node, cluster, signal, ...form }: HandedOver, context: AuthenticatedContext): Promise<ApiResponse> {
    const { request, principal } = context
    if (request.passedOn?.isDecided === true) throw disagreed(request.passedOn, node)
    const slot = await this.#parts.handOvers.enter(principal.account.id, signal)
    try {
      const { 'content-length': _length, ...headers } = headersOf(request)
      const { status, ...answer } = await this.#parts.sender.send(node, {
        method: request.method,
        target: targetOf(request),
        headers: { ...headers, 'content-type': form.type, ...(cluster !== undefined && { 'x-cluster': cluster }) },
        body: form.body,
        signal,
        client: { ...clientOf(context), isDecided: true },
      })
      // One that refuses it may answer before it has all: what is still to be sent is nobody's then.
      const body = status < 400 ? StreamBody.of(answer.body) : await whole(answer.body)
      return { status, headers: answer.headers, body }
    } finally {
      slot.leave()
    }
  }
}

function disagreed({ node }: PassedOn, other: string): HoldfastError {
  const reason = `${node} has passed it on to where it is not, but on ${other}`
  return new HoldfastError('UNAVAILABLE', `the nodes do not agree on who keeps the cluster: ${reason}`)
}

function clientOf({ request, requestId }: AuthenticatedContext): AskedOfNode['client'] {
  return {
    requestId,
    client: request.remoteAddress ?? null,
    scheme: request.scheme ?? null,
    host: request.header('host') ?? null,
  }
}

async function whole(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
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
