import { randomBytes } from 'node:crypto'
import type { Clock } from '../../src/domain/clock.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { Forwarded } from '../../src/http/api-messages.ts'
import { FORWARDED_HEADER, openAnswer, sealForwarded, sealForwardedStream } from './forwarded.ts'
import type { NodeAnswer, NodeClient, NodeRequest } from './node-client.ts'

interface KnownNode {
  id: string
  url: string
  isThere: boolean
  isLeaving: boolean
  /** Null if the node runs version 0.2.0. Otherwise, proofs must contain the run. */
  run: string | null
  /** True if the node reads streams in sealed frames. */
  readsFrames: boolean
}

export interface NodeSenderParts {
  self: string
  known: (isFresh?: boolean) => Promise<readonly KnownNode[]>
  client: Pick<NodeClient, 'send'>
  secret: Uint8Array
  clock: Clock
  newNonce?: () => string
}

type ForwardedClient = Omit<Forwarded, 'node' | 'to'>

export interface FleetRequest extends Omit<NodeRequest, 'url'> {
  /** Path and query. */
  target: string
  client: ForwardedClient
  /** Sends the request even to a node that is shutting down. */
  whileLeaving?: boolean
}

/** Seconds of the header Retry-After, for a request to a node that is down. */
const RETRY_SECONDS = 5
/** Interval in ms of the checks whether the other node is up, while this node awaits its answer. */
const CHECK_MS = 5_000
const NONCE_BYTES = 12
/** A longer `Host` header is left out of the proof, which would become too long. */
const LONGEST_HOST = 255
/** Stands for the client in a request that the node makes for itself. */
export const NO_CLIENT: ForwardedClient = { requestId: '', client: null, scheme: null, host: null }

export class NodeSender {
  readonly #parts: NodeSenderParts

  constructor(parts: NodeSenderParts) {
    this.#parts = parts
  }

  /**
   * Sends a request to a node. After a restart of the node, its former run stays known for up to two seconds. The node
   * refuses requests for that run, and this call sends them again. A stream can be sent only once, so the call asks the
   * database for the run first.
   * @throws HoldfastError `UNAVAILABLE` if the node is down or runs an older version; `OUTCOME_UNKNOWN` if the node
   * goes down before it answers, or if another server answers; errors of {@link NodeClient}
   */
  async send(node: string, request: FleetRequest): Promise<NodeAnswer> {
    const isOpen = (known?: KnownNode): known is KnownNode =>
      known !== undefined && (!known.isLeaving || request.whileLeaving === true)
    const isStream = !isWhole(request.body)
    let known = await this.#liveNode(node, isStream)
    if (!isOpen(known) && !isStream) known = await this.#liveNode(node, true)
    if (!isOpen(known)) {
      const details = { retryAfter: RETRY_SECONDS }
      throw new HoldfastError('UNAVAILABLE', `the responsible node ${node} is down or shutting down`, { details })
    }
    const answer = await this.#sendTo(known, request)
    if (answer.status !== 503 || isStream) return answer
    const latest = await this.#liveNode(node, true)
    if (!isOpen(latest) || latest.run === known.run) return answer
    void discard(answer.body)
    return this.#sendTo(latest, request)
  }

  async #sendTo(
    { id: node, url, run, readsFrames }: KnownNode,
    { target, client, whileLeaving: _, ...request }: FleetRequest,
  ): Promise<NodeAnswer> {
    const { self, secret, clock, newNonce = randomNonce } = this.#parts
    if (run === null) throw new HoldfastError('UNAVAILABLE', `the node ${node} runs an older version: update it`)
    const { body, headers } = asSent(request)
    const asked = { method: request.method, target, headers, now: clock.now(), nonce: newNonce(), run }
    const host = client.host !== null && client.host.length > LONGEST_HOST ? null : client.host
    const streamed = isWhole(body) ? null : body
    const isFramed = streamed !== null && readsFrames
    const covered = isFramed ? 'frames' : isWhole(body) ? (body ?? new Uint8Array()) : null
    const proof = sealForwarded(secret, { ...client, host, node: self, to: node }, { ...asked, body: covered })
    const { 'content-length': _length, ...others } = headers
    const down = new AbortController()
    const cancel = this.#watch(node, down)
    try {
      const answer = await this.#parts.client.send({
        ...request,
        body: isFramed ? sealForwardedStream(secret, proof, streamed) : body,
        signal: AbortSignal.any([request.signal, down.signal]),
        url: `${url}${target}`,
        headers: { ...(isFramed ? others : headers), [FORWARDED_HEADER]: proof },
      })
      return await this.#fromNode(node, answer, proof)
    } finally {
      cancel()
    }
  }

  /** Verifies that the node answered. Another server may listen at the node's address. */
  async #fromNode(node: string, answer: NodeAnswer, proof: string): Promise<NodeAnswer> {
    const opened = await openAnswer(this.#parts.secret, proof, answer).catch((cause: unknown) => {
      const message = `the answer of the responsible node ${node} broke off: it may have made the change`
      throw new HoldfastError('OUTCOME_UNKNOWN', message, { cause })
    })
    if (opened !== null) return opened
    void discard(answer.body)
    const message = `the server at the url of the responsible node ${node} is not that node`
    throw new HoldfastError('OUTCOME_UNKNOWN', message)
  }

  async #liveNode(node: string, isFresh = false): Promise<KnownNode | undefined> {
    return (await this.#parts.known(isFresh)).find(({ id, isThere }) => id === node && isThere)
  }

  /**
   * Aborts the request when the catalogue reports the node as down. An open connection proves nothing, because a
   * stalled node still accepts connections.
   * @returns a function that ends the checks
   */
  #watch(node: string, down: AbortController): () => void {
    let cancel: () => void = () => undefined
    let isOver = false
    const check = async (): Promise<void> => {
      // If the catalogue is unreachable, assume that the node is up.
      const isDown = await this.#liveNode(node).then(
        known => known === undefined,
        () => false,
      )
      if (isOver) return
      if (!isDown) return next()
      down.abort(
        new HoldfastError('OUTCOME_UNKNOWN', `the responsible node ${node} went down: it may have made the change`),
      )
    }
    const next = (): void => {
      cancel = this.#parts.clock.after(CHECK_MS, () => void check())
    }
    next()
    return () => {
      isOver = true
      cancel()
    }
  }
}

/** Returns the body and the headers exactly as the HTTP client sends them, so that the proof covers them. */
function asSent({
  body: given,
  headers,
}: Pick<NodeRequest, 'body' | 'headers'>): Pick<NodeRequest, 'body' | 'headers'> {
  const body = given instanceof Uint8Array && given.length === 0 ? null : given
  const { 'content-length': declared, ...others } = headers
  const length = body instanceof Uint8Array ? String(body.length) : body === null ? undefined : declared
  return { body, headers: length === undefined ? others : { ...others, 'content-length': length } }
}

function isWhole(body: NodeRequest['body']): body is Uint8Array | null {
  return body === null || body instanceof Uint8Array
}

function randomNonce(): string {
  return randomBytes(NONCE_BYTES).toString('base64url')
}

/** Closes the connection of an unread body, which needs the first chunk to arrive. */
async function discard(body: NodeAnswer['body']): Promise<void> {
  try {
    for await (const _ of body) break
  } catch {
    // The connection is closed already.
  }
}
