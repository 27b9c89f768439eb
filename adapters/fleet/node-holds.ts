import type { Clock } from '../../src/domain/clock.ts'
import type { ApiHandler } from '../../src/http/api-messages.ts'
import { errorResponse } from '../../src/http/error-response.ts'
import type { FleetParts, HoldsOnNode } from '../../src/nodes/fleet-system.ts'
import { answerOf } from './node-answer.ts'
import type { NodeSender } from './node-sender.ts'

/** Path of the requests by which nodes ask which holds a ledger has. The query names them. */
export const NODE_HOLDS_PATH = '/fleet/v1/holds'

const ANSWER_MS = 10_000
/** In bytes. */
const LONGEST_ANSWER = 64 * 1024

/** Answers {@link holdsOnNode} of another node. */
export function nodeHolds({ soundHolds, run }: Pick<FleetParts, 'soundHolds' | 'run'>): ApiHandler {
  return async ({ query }) => {
    try {
      const body = JSON.stringify({ run, held: soundHolds(new URLSearchParams(query).getAll('hold')) })
      return { status: 200, headers: { 'content-type': 'application/json' }, body }
    } catch (error) {
      return errorResponse(error, '')
    }
  }
}

/** Returns null if the node does not answer. A node of version 0.3.0 answers 404. */
export async function holdsOnNode(
  sender: Pick<NodeSender, 'send'>,
  clock: Clock,
  node: string,
  holds: readonly string[],
): Promise<HoldsOnNode | null> {
  const target = `${NODE_HOLDS_PATH}?${new URLSearchParams(holds.map(id => ['hold', id] as [string, string]))}`
  try {
    const request = { node, method: 'GET', target, whileLeaving: true }
    const { status, body } = await answerOf(sender, clock, { ...request, ms: ANSWER_MS, longest: LONGEST_ANSWER })
    return status === 200 && body !== null ? (JSON.parse(body.toString()) as HoldsOnNode) : null
  } catch {
    return null
  }
}
