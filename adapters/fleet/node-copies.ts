import type { Clock } from '../../src/domain/clock.ts'
import type { ApiHandler } from '../../src/http/api-messages.ts'
import { answerOf } from './node-answer.ts'
import type { NodeSender } from './node-sender.ts'

/** Path of the requests by which a node tells another one that it should copy new content. */
export const NODE_COPIES_PATH = '/fleet/v1/copies'

/** Time from the first news for a node until they are sent, in ms. Later news of that time go with them. */
const GATHER_MS = 50
const ANSWER_MS = 5_000
/** In bytes. */
const LONGEST_ANSWER = 1024

/** Answers the news of another node. */
export function nodeCopies(onNews: () => void): ApiHandler {
  return () => {
    onNews()
    return Promise.resolve({ status: 200, headers: { 'content-type': 'application/json' }, body: '{}' })
  }
}

/**
 * Tells nodes that they should copy new content, at most once in 50 ms each. A node that does not learn of it looks into
 * the database after a while.
 */
export class CopyNews {
  readonly #sender: Pick<NodeSender, 'send'>
  readonly #clock: Clock
  readonly #waiting = new Map<string, () => void>()
  #isStopped = false

  constructor(sender: Pick<NodeSender, 'send'>, clock: Clock) {
    this.#sender = sender
    this.#clock = clock
  }

  tell(nodes: readonly string[]): void {
    const untold = this.#isStopped ? [] : nodes.filter(node => !this.#waiting.has(node))
    for (const node of untold) {
      const cancel = this.#clock.after(GATHER_MS, () => void this.#send(node))
      this.#waiting.set(node, cancel)
    }
  }

  stop(): void {
    this.#isStopped = true
    for (const cancel of this.#waiting.values()) cancel()
  }

  async #send(node: string): Promise<void> {
    this.#waiting.delete(node)
    const request = { node, method: 'POST', target: NODE_COPIES_PATH, ms: ANSWER_MS, longest: LONGEST_ANSWER }
    await answerOf(this.#sender, this.#clock, request).catch(() => null)
  }
}
