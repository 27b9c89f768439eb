import { randomBytes } from 'node:crypto'
import type { Clock } from '../../src/domain/clock.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { PassedOn } from '../../src/http/api-messages.ts'
import type { NodeAnswer, NodeClient, NodeRequest } from './node-client.ts'
import { openAnswer, PASSED_ON_HEADER, sealPassedOn } from './passed-on.ts'

/** A node of the fleet, as the catalogue has it. */
interface KnownNode {
  id: string
  url: string
  isThere: boolean
  isLeaving: boolean
  /** Which run of it proofs are for; null for one of version 0.2.0. */
  run: string | null
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
  /** Makes the nonce of a request. */
  newNonce?: () => string
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
const NONCE_BYTES = 12
/** The longest name that a host can have. A longer `Host` is not passed on, since a proof has room for no more. */
const LONGEST_HOST = 255
/** By whom a request is that no client has made. */
export const OF_THE_NODE: Said = { requestId: '', client: null, scheme: null, host: null }

/** Asks other nodes as one of their fleet. */
export class NodeSender {
  readonly #parts: NodeSenderParts

  constructor(parts: NodeSenderParts) {
    this.#parts = parts
  }

  /**
   * @throws HoldfastError `UNAVAILABLE` if the node is not there, or runs an older version; `OUTCOME_UNKNOWN` if it is taken for gone before it has
   * answered, or if it is not the node that has; what the client throws
   */
  async send(node: string, { target, client, whileLeaving = false, ...request }: AskedOfNode): Promise<NodeAnswer> {
    const { self, secret, clock, newNonce = randomNonce } = this.#parts
    const known = await this.#there(node)
    if (known === undefined || (known.isLeaving && !whileLeaving)) {
      const details = { retryAfter: RETRY_SECONDS }
      throw new HoldfastError('UNAVAILABLE', `the node ${node}, which keeps this, is not there now`, { details })
    }
    const { run } = known
    if (run === null) throw new HoldfastError('UNAVAILABLE', `the node ${node} runs an older version: update it`)
    const sent = asSent(request)
    const asked = { method: request.method, target, headers: sent.headers, now: clock.now(), nonce: newNonce(), run }
    const host = client.host !== null && client.host.length > LONGEST_HOST ? null : client.host
    const body = sent.body === null ? new Uint8Array() : sent.body instanceof Uint8Array ? sent.body : null
    const proof = sealPassedOn(secret, { ...client, host, node: self, to: node }, { ...asked, body })
    const gone = new AbortController()
    const cancel = this.#watch(node, gone)
    try {
      const answer = await this.#parts.client.send({
        ...request,
        ...sent,
        signal: AbortSignal.any([request.signal, gone.signal]),
        url: `${known.url}${target}`,
        headers: { ...sent.headers, [PASSED_ON_HEADER]: proof },
      })
      return await this.#fromNode(node, answer, proof)
    } finally {
      cancel()
    }
  }

  /** Whatever is found at a node's address may answer: only the node can show that it does. */
  async #fromNode(node: string, answer: NodeAnswer, proof: string): Promise<NodeAnswer> {
    const opened = await openAnswer(this.#parts.secret, proof, answer).catch((cause: unknown) => {
      const message = `the answer of the node ${node}, which keeps this, broke off: it may have done it`
      throw new HoldfastError('OUTCOME_UNKNOWN', message, { cause })
    })
    if (opened !== null) return opened
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

/** Returns the body and the headers as they are sent, so that a proof covers what comes. */
function asSent({
  body: given,
  headers,
}: Pick<NodeRequest, 'body' | 'headers'>): Pick<NodeRequest, 'body' | 'headers'> {
  const body = given instanceof Uint8Array && given.length === 0 ? null : given
  const { 'content-length': declared, ...others } = headers
  const length = body instanceof Uint8Array ? String(body.length) : body === null ? undefined : declared
  return { body, headers: length === undefined ? others : { ...others, 'content-length': length } }
}

function randomNonce(): string {
  return randomBytes(NONCE_BYTES).toString('base64url')
}

/** Has the connection end. What has not been begun cannot be left. */
async function discard(body: NodeAnswer['body']): Promise<void> {
  try {
    for await (const _ of body) break
  } catch {
    // It is gone.
  }
}
