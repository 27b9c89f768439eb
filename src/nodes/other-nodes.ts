import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import { inUploadSlot } from '../contract/upload-slot.ts'
import type { Slots } from '../domain/concurrency/slots.ts'
import { HoldfastError } from '../domain/errors.ts'
import { targetOf } from '../http/passed-on.ts'
import type { AuthenticatedContext, GoesTo } from '../http/route.ts'
import { StreamBody } from '../http/stream-body.ts'
import type { ApiRequest, ApiResponse } from '../http/types.ts'
import { meantCluster } from './meant-cluster.ts'
import type { NodeSender } from './node-sender.ts'

export interface OtherNodesParts {
  clusters: Pick<ClusterRegistry, 'nodeOf' | 'defaultCluster'>
  sender: Pick<NodeSender, 'send'>
  /** Places for what is passed on, by account. */
  slots: Pick<Slots, 'enter'>
}

/** What an answer may depend on. Who asks is told by what the node itself says. */
const HEADERS = [
  ...['accept', 'authorization', 'content-encoding', 'content-length', 'content-type', 'holdfast-node'],
  ...['prefer', 'user-agent', 'x-api-key', 'x-cluster', 'x-request-source'],
]

/** Has the node of a cluster answer what is to be kept there: whole, as it came, with the client's own credential. */
export class OtherNodes {
  readonly #parts: OtherNodesParts

  constructor(parts: OtherNodesParts) {
    this.#parts = parts
  }

  /**
   * The answer of another node; or the request, for this one to answer.
   *
   * @throws HoldfastError `UNAVAILABLE` if the node is not there; `OUTCOME_UNKNOWN` if its answer was lost
   */
  async answer(context: AuthenticatedContext, goesTo: GoesTo): Promise<ApiResponse | ApiRequest> {
    const { principal, request } = context
    const { clusters } = this.#parts
    const meant = goesTo === 'cluster' ? await meantCluster(context) : { cluster: undefined, request }
    const fixed = principal.credential.upload?.cluster
    const cluster = fixed ?? meant.cluster ?? principal.account.defaultCluster ?? clusters.defaultCluster
    const node = clusters.nodeOf(cluster)
    if (node === null) return meant.request
    if (request.passedOn !== undefined) {
      const reason = `the node ${request.passedOn.node} has passed it on to where it is not`
      throw new HoldfastError('UNAVAILABLE', `the nodes do not agree on who keeps the cluster ${cluster}: ${reason}`)
    }
    return this.#pass(node, { ...context, request: meant.request })
  }

  #pass(node: string, context: AuthenticatedContext): Promise<ApiResponse> {
    const { request, requestId } = context
    return inUploadSlot(this.#parts.slots, context, async ({ body, signal }) => {
      const answer = await this.#parts.sender.send(node, {
        method: request.method,
        target: targetOf(request),
        headers: headersOf(request),
        body: request.header('content-length') === '0' ? null : body,
        signal,
        client: {
          requestId,
          client: request.remoteAddress ?? null,
          scheme: request.scheme ?? null,
          host: request.header('host') ?? null,
        },
      })
      return { status: answer.status, headers: answer.headers, body: StreamBody.of(answer.body) }
    })
  }
}

function headersOf(request: ApiRequest): Record<string, string> {
  const given = HEADERS.flatMap(name => {
    const value = request.header(name)
    return value === undefined ? [] : [[name, value]]
  })
  return Object.fromEntries(given)
}
