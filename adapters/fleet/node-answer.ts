import { within } from '../../src/concurrency/deadline.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import { orAborted, wholeUpTo } from '../../src/domain/sources.ts'
import { NO_CLIENT, type NodeSender } from './node-sender.ts'

/** A request of this node to another node, on behalf of no client. */
interface Question {
  node: string
  method: string
  target: string
  whileLeaving?: boolean
  /** Maximum time for the whole answer, in ms. */
  ms: number
  /** Maximum size of the body, in bytes. */
  longest: number
}

/**
 * Asks another node. Returns its whole answer, whose body is null if it is too long.
 *
 * @throws HoldfastError `UNAVAILABLE` if the node does not answer in time
 */
export function answerOf(
  sender: Pick<NodeSender, 'send'>,
  clock: Clock,
  { ms, longest, node, ...request }: Question,
): Promise<{ status: number; body: Buffer | null }> {
  const late = () => new HoldfastError('UNAVAILABLE', `the node ${node} does not answer`)
  const ask = async (signal: AbortSignal) => {
    const asked = { ...request, headers: {}, body: null, signal, client: NO_CLIENT }
    const answer = await sender.send(node, asked)
    return { status: answer.status, body: await wholeUpTo(answer.body, longest) }
  }
  return within({ clock, ms, late }, signal => orAborted(ask(signal), signal))
}
