import type { Clock } from '../../src/domain/clock.ts'
import { type ErrorCode, HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import type { ApiHandler } from '../../src/http/api-messages.ts'
import { errorResponse } from '../../src/http/error-response.ts'
import type { FleetParts, OwnerOnNode } from '../../src/nodes/fleet-system.ts'
import { answerOf } from './node-answer.ts'
import type { NodeSender } from './node-sender.ts'

/** Path prefix of the requests that give a record on another node another owner. The query has the account. */
export const NODE_OWNERS_PATH = '/fleet/v1/owners/'

/** A copy of a large root takes seconds. */
const ANSWER_MS = 60_000
/** In bytes. */
const LONGEST_ANSWER = 64 * 1024
/** Errors that the caller understands. All others mean that the record stays as it is for now. */
const KNOWN: readonly ErrorCode[] = ['CONFLICT', 'UNAVAILABLE']

/** Answers {@link setOwnerOnNode} of another node. */
export function nodeOwners(setOwner: FleetParts['setOwner']): ApiHandler {
  return async ({ path, query }) => {
    try {
      const asked = new URLSearchParams(query)
      const id = decodeURIComponent(path.slice(NODE_OWNERS_PATH.length))
      await setOwner({ accountId: asked.get('account') ?? '', id, owner: Number(asked.get('owner')) })
      return { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' }
    } catch (error) {
      return errorResponse(error, '')
    }
  }
}

/**
 * Gives a record on another node another owner, if the account still has it.
 *
 * @throws HoldfastError `CONFLICT` if the content has not arrived; `UNAVAILABLE` if the node does not follow
 */
export async function setOwnerOnNode(
  sender: Pick<NodeSender, 'send'>,
  clock: Clock,
  { node, accountId, id, owner }: OwnerOnNode,
): Promise<void> {
  const query = new URLSearchParams({ account: accountId, owner: String(owner) })
  const target = `${NODE_OWNERS_PATH}${encodeURIComponent(id)}?${query}`
  const request = { node, method: 'POST', target, ms: ANSWER_MS, longest: LONGEST_ANSWER }
  try {
    const { status, body } = await answerOf(sender, clock, request)
    if (status === 200) return
    const { code, message } = JSON.parse(String(body)) as { code?: ErrorCode; message?: string }
    const known = KNOWN.find(one => one === code) ?? 'UNAVAILABLE'
    throw new HoldfastError(known, message ?? `the node ${node} answered ${status}`)
  } catch (cause) {
    if (isHoldfastError(cause) && KNOWN.includes(cause.code)) throw cause
    throw new HoldfastError('UNAVAILABLE', `visibility: the node ${node} keeps the content and does not follow`, {
      cause,
    })
  }
}
