import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { PASSED_ON_HEADER, sealPassedOn } from '../http/passed-on.ts'
import type { PassedOn } from '../http/types.ts'
import type { NodeAnswer, NodeClient, NodeRequest } from '../network/node-client.ts'

/** A node of the fleet, as the catalogue has it. */
interface KnownNode {
  id: string
  url: string
  isThere: boolean
}

export interface NodeSenderParts {
  /** This node's id. */
  self: string
  /** The nodes of the fleet. */
  known: () => Promise<readonly KnownNode[]>
  client: Pick<NodeClient, 'send'>
  /** Of the fleet. */
  secret: Uint8Array
  clock: Clock
}

/** What another node is asked. */
export interface AskedOfNode extends Omit<NodeRequest, 'url'> {
  /** Path and query. */
  target: string
  /** Who asks it, if it is a client that does. */
  client: Omit<PassedOn, 'node'>
}

/** Until a node that is gone may be there again. */
const RETRY_SECONDS = 5
/** By whom a request is that no client has made. */
export const OF_THE_NODE: Omit<PassedOn, 'node'> = { requestId: '', client: null, scheme: null, host: null }

/** Asks other nodes as one of their fleet. */
export class NodeSender {
  readonly #parts: NodeSenderParts

  constructor(parts: NodeSenderParts) {
    this.#parts = parts
  }

  /** @throws HoldfastError `UNAVAILABLE` if the node is not there; what the client throws */
  async send(node: string, { target, client, ...request }: AskedOfNode): Promise<NodeAnswer> {
    const { self, secret, clock } = this.#parts
    const known = (await this.#parts.known()).find(({ id }) => id === node)
    if (known === undefined || !known.isThere) {
      const details = { retryAfter: RETRY_SECONDS }
      throw new HoldfastError('UNAVAILABLE', `the node ${node}, which keeps this, is not there now`, { details })
    }
    const asked = { method: request.method, target, now: clock.now() }
    const proof = sealPassedOn(secret, { ...client, node: self }, asked)
    return this.#parts.client.send({
      ...request,
      url: `${known.url}${target}`,
      headers: { ...request.headers, [PASSED_ON_HEADER]: proof },
    })
  }
}
