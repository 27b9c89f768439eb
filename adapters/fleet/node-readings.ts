import { HoldfastError } from '../../src/domain/errors.ts'
import type { ApiHandler } from '../../src/http/api-messages.ts'
import { NO_CLIENT, type NodeSender } from './node-sender.ts'

/** Path of the request by which a stopping node waits for the responses of another node that read from it. */
export const NODE_READINGS_PATH = '/fleet/v1/readings'
/** Query string of a request after which the receiver begins no more responses from the sender. */
const LAST = 'last'
const RETRY_SECONDS = 5

/** This node's open responses that read content from other nodes. */
export class NodeReadings {
  readonly #open = new Map<string, Set<Promise<void>>>()
  /** Runs of nodes that are about to end, by node. */
  readonly #closed = new Map<string, string | null>()

  /** Notes a response that reads from a node. Returns a function to call at its end. */
  begin(node: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    const open = this.#open.get(node) ?? new Set()
    this.#open.set(node, open.add(promise))
    return () => {
      open.delete(promise)
      resolve()
    }
  }

  /** Resolves when the responses that read from the node at this moment have ended. */
  async ended(node: string): Promise<void> {
    await Promise.all(this.#open.get(node) ?? [])
  }

  close(node: string, run: string | null): void {
    this.#closed.set(node, run)
  }

  /** @throws HoldfastError `UNAVAILABLE` if this run of the node is about to end */
  check(node: string, run: string | null): void {
    if (run === null || this.#closed.get(node) !== run) return
    throw new HoldfastError('UNAVAILABLE', `the node ${node} is restarting`, { details: { retryAfter: RETRY_SECONDS } })
  }
}

/** Answers {@link readingsEnded} of another node. */
export function nodeReadings(readings: NodeReadings, runOf: (node: string) => Promise<string | null>): ApiHandler {
  return async ({ forwarded, query, signal }) => {
    const node = forwarded?.node ?? ''
    if (query === LAST) readings.close(node, await runOf(node))
    await Promise.race([readings.ended(node), aborted(signal)])
    return { status: 200, headers: { 'content-length': '0' }, body: null }
  }
}

/**
 * Resolves when a node has ended the responses that read from this node at the time of the call. A node that does not
 * answer counts as having none.
 */
export async function readingsEnded(
  sender: Pick<NodeSender, 'send'>,
  node: string,
  { isLast, signal }: { isLast: boolean; signal: AbortSignal },
): Promise<void> {
  const target = isLast ? `${NODE_READINGS_PATH}?${LAST}` : NODE_READINGS_PATH
  const asked = { method: 'GET', target, headers: {}, body: null, signal, client: NO_CLIENT, whileLeaving: true }
  try {
    for await (const _ of (await sender.send(node, asked)).body);
  } catch {
    // A node that is down reads nothing.
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
