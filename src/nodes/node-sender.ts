import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { ANSWERED_HEADER, isAnswered, PASSED_ON_HEADER, sealPassedOn } from '../http/passed-on.ts'
import type { PassedOn } from '../http/types.ts'
import type { NodeAnswer, NodeClient, NodeRequest } from '../network/node-client.ts'

/** A node of the fleet, as the catalogue has it. */
interface KnownNode {
  id: string
  url: string
  isThere: boolean
  isLeaving: boolean
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

/** What is said of a client. */
type Said = Omit<PassedOn, 'node' | 'to'>

/** What another node is asked. */
export interface AskedOfNode extends Omit<NodeRequest, 'url'> {
  /** Path and query. */
  target: string
  /** Who asks it, if it is a client that does. */
  client: Said
  /** Whether a node that only finishes what it has begun is asked it, too. */
  whileLeaving?: boolean
}

/** Until a node that is gone may be there again. */
const RETRY_SECONDS = 5
/** How often it is looked, while an answer is waited for, whether its node is still there. */
const LOOK_MS = 5_000
/** By whom a request is that no client has made. */
export const OF_THE_NODE: Said = { requestId: '', client: null, scheme: null, host: null }

/** Asks other nodes as one of their fleet. */
export class NodeSender {
  readonly #parts: NodeSenderParts

  constructor(parts: NodeSenderParts) {
    this.#parts = parts
  }

  /**
   * @throws HoldfastError `UNAVAILABLE` if the node is not there; `OUTCOME_UNKNOWN` if it is taken for gone before it has
   * answered, or if it is not the node that has; what the client throws
   */
  async send(node: string, { target, client, whileLeaving = false, ...request }: AskedOfNode): Promise<NodeAnswer> {
    const { self, secret, clock } = this.#parts
    const known = await this.#there(node)
    if (known === undefined || (known.isLeaving && !whileLeaving)) {
      const details = { retryAfter: RETRY_SECONDS }
      throw new HoldfastError('UNAVAILABLE', `the node ${node}, which keeps this, is not there now`, { details })
    }
    const asked = { method: request.method, target, now: clock.now() }
    const proof = sealPassedOn(secret, { ...client, node: self, to: node }, asked)
    const gone = new AbortController()
    const cancel = this.#watch(node, gone)
    try {
      const answer = await this.#parts.client.send({
        ...request,
        signal: AbortSignal.any([request.signal, gone.signal]),
        url: `${known.url}${target}`,
        headers: { ...request.headers, [PASSED_ON_HEADER]: proof },
      })
      return this.#fromNode(node, answer, proof)
    } finally {
      cancel()
    }
  }

  /** Whatever is found at a node's address may answer: only the node can show that it does. */
  #fromNode(node: string, { headers, ...answer }: NodeAnswer, proof: string): NodeAnswer {
    const { [ANSWERED_HEADER]: shown, ...others } = headers
    if (isAnswered(this.#parts.secret, proof, answer.status, shown)) return { ...answer, headers: others }
    void discard(answer.body)
    const message = `what has answered at the url of the node ${node}, which keeps this, is not that node`
    throw new HoldfastError('OUTCOME_UNKNOWN', message)
  }

  async #there(node: string): Promise<KnownNode | undefined> {
    return (await this.#parts.known()).find(({ id, isThere }) => id === node && isThere)
  }

  /** A node that stands still takes connections, and answers none: only what it says in the catalogue tells. */
  #watch(node: string, gone: AbortController): () => void {
    let cancel: () => void = () => undefined
    let isOver = false
    const look = async (): Promise<void> => {
      // Of a catalogue that cannot be reached nothing is learned.
      const isGone = await this.#there(node).then(
        known => known === undefined,
        () => false,
      )
      if (isOver) return
      if (!isGone) return next()
      gone.abort(
        new HoldfastError('OUTCOME_UNKNOWN', `the node ${node}, which keeps this, is gone: it may have done it`),
      )
    }
    const next = (): void => {
      cancel = this.#parts.clock.after(LOOK_MS, () => void look())
    }
    next()
    return () => {
      isOver = true
      cancel()
    }
  }
}

/** Has the connection end. What has not been begun cannot be left. */
async function discard(body: NodeAnswer['body']): Promise<void> {
  try {
    for await (const _ of body) break
  } catch {
    // It is gone.
  }
}
