import type { CID } from 'multiformats/cid'
import { within } from '../../src/concurrency/deadline.ts'
import { type BlockSource, CheckedSource } from '../../src/content/block-source.ts'
import { takenDown } from '../../src/content/live-content.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import { wholeUpTo } from '../../src/domain/sources.ts'
import { NODE_BLOCKS_PATH, OPENED } from './node-blocks.ts'
import { type NodeSender, OF_THE_NODE } from './node-sender.ts'

/** A block is waited for this long. */
const READ_MS = 20_000
/** No block is larger. */
const LONGEST_BLOCK = 4 * 1024 * 1024

/**
 * Reads the blocks that another node has, each checked.
 *
 * @param opened the block that is asked for by its own CID: the node gives it only if a live root vouches for it
 */
export function nodeReader(sender: NodeSender, node: string, clock: Clock, opened?: CID): BlockSource {
  const late = () => new HoldfastError('UNAVAILABLE', `the node ${node} does not answer`)
  return new CheckedSource({
    read: (cid, { signal } = {}) => {
      const query = opened?.equals(cid) === true ? `?${OPENED}` : ''
      return within({ clock, ms: READ_MS, late, signal }, ended => read({ sender, node, cid, query }, ended))
    },
  })
}

interface Asked {
  sender: NodeSender
  node: string
  cid: CID
  query: string
}

/** @throws HoldfastError `GONE` or `LEGAL_REASONS` for an opened block to which every way is taken down */
async function read(asked: Asked, signal: AbortSignal): Promise<Uint8Array> {
  const { node, cid } = asked
  const { status, bytes } = await ask(asked, signal)
  if (status === 200) return bytes
  if (status === 410 || status === 451) throw takenDown(cid, status)
  if (status === 404) throw new HoldfastError('NOT_FOUND', `block ${cid} is not on the node ${node}`)
  throw new HoldfastError('UNAVAILABLE', `the node ${node} has answered ${status} for block ${cid}`)
}

async function ask({ sender, node, cid, query }: Asked, signal: AbortSignal) {
  try {
    const asked = { method: 'GET', target: `${NODE_BLOCKS_PATH}${cid}${query}`, headers: {}, body: null, signal }
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
