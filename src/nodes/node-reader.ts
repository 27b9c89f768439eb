import type { CID } from 'multiformats/cid'
import { type BlockSource, CheckedSource } from '../content/block-source.ts'
import type { Clock } from '../domain/clock.ts'
import { within } from '../domain/deadline.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import { wholeUpTo } from '../domain/sources.ts'
import { NODE_BLOCKS_PATH } from './node-blocks.ts'
import { type NodeSender, OF_THE_NODE } from './node-sender.ts'

/** A block is waited for this long. */
const READ_MS = 20_000
/** No block is larger. */
const LONGEST_BLOCK = 4 * 1024 * 1024

/** Reads the blocks that another node has, each checked. */
export function nodeReader(sender: NodeSender, node: string, clock: Clock): BlockSource {
  const late = () => new HoldfastError('UNAVAILABLE', `the node ${node} does not answer`)
  return new CheckedSource({
    read: (cid, { signal } = {}) => {
      return within({ clock, ms: READ_MS, late, signal }, ended => read(sender, node, cid, ended))
    },
  })
}

async function read(sender: NodeSender, node: string, cid: CID, signal: AbortSignal): Promise<Uint8Array> {
  const { status, bytes } = await ask(sender, node, cid, signal)
  if (status === 200) return bytes
  if (status === 404) throw new HoldfastError('NOT_FOUND', `block ${cid} is not on the node ${node}`)
  throw new HoldfastError('UNAVAILABLE', `the node ${node} has answered ${status} for block ${cid}`)
}

async function ask(sender: NodeSender, node: string, cid: CID, signal: AbortSignal) {
  try {
    const asked = { method: 'GET', target: `${NODE_BLOCKS_PATH}${cid}`, headers: {}, body: null, signal }
    const answer = await sender.send(node, { ...asked, client: OF_THE_NODE, whileLeaving: true })
    const bytes = await wholeUpTo(answer.body, LONGEST_BLOCK)
    if (bytes === null) throw new HoldfastError('BLOCK_DAMAGED', 'a node has sent more than a block')
    return { status: answer.status, bytes }
  } catch (cause) {
    signal.throwIfAborted()
    // Nothing is done by reading, whether the answer is lost or not.
    if (isHoldfastError(cause) && cause.code !== 'OUTCOME_UNKNOWN') throw cause
    throw new HoldfastError('UNAVAILABLE', `the node ${node} has not answered for block ${cid}`, { cause })
  }
}
