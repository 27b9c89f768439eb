import type { CID } from 'multiformats/cid'
import { within } from '../../src/concurrency/deadline.ts'
import { type BlockSource, CheckedSource } from '../../src/content/block-source.ts'
import { takenDown } from '../../src/content/live-content.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import { wholeUpTo } from '../../src/domain/sources.ts'
import { BELOW, DAMAGED, LIVE_UNTIL_HEADER, NODE_BLOCKS_PATH, OPENED } from './node-blocks.ts'
import { NO_CLIENT, type NodeSender } from './node-sender.ts'

const READ_MS = 20_000
/** In bytes. */
const LONGEST_BLOCK = 4 * 1024 * 1024

/** A block that was requested by its own CID. The node serves it only if a live root for its reader contains it. */
interface Opened {
  cid: CID
  /** Number of the account that reads; null for a stranger. */
  owner: number | null
  /** Called with the end of the last record, in ms since the epoch; null if a record never expires. */
  onLiveUntil: (liveUntil: number | null) => void
}

/** Blocks below a CID, for the account with a number. */
export interface Below {
  upper: CID
  owner: number
}

export function nodeReader(
  sender: NodeSender,
  node: string,
  clock: Clock,
  { opened, below }: { opened?: Opened; below?: Below } = {},
): BlockSource {
  const late = () => new HoldfastError('UNAVAILABLE', `the node ${node} does not answer`)
  return new CheckedSource({
    read: (cid, { signal } = {}) => {
      const asked = opened?.cid.equals(cid) === true ? opened : null
      return within({ clock, ms: READ_MS, late, signal }, ended =>
        read({ sender, node, cid, opened: asked, below }, ended),
      )
    },
  })
}

interface BlockRequest {
  sender: NodeSender
  node: string
  cid: CID
  opened: Opened | null
  below: Below | undefined
}

/** Throws a HoldfastError `GONE` or `LEGAL_REASONS` if every path to the opened block is taken down. */
async function read(request: BlockRequest, signal: AbortSignal): Promise<Uint8Array> {
  const { node, cid } = request
  const { status, bytes, liveUntil } = await ask(request, signal)
  if (status === 200) {
    request.opened?.onLiveUntil(liveUntil)
    return bytes
  }
  if (status === 410 || status === 451) throw takenDown(cid, status)
  if (status === 404) throw new HoldfastError('NOT_FOUND', `block ${cid} is not on the node ${node}`)
  if (status === DAMAGED) throw new HoldfastError('BLOCK_DAMAGED', `block ${cid} is damaged on the node ${node}`)
  throw new HoldfastError('UNAVAILABLE', `the node ${node} answered ${status} for block ${cid}`)
}

async function ask({ sender, node, cid, opened, below }: BlockRequest, signal: AbortSignal) {
  const query = opened === null ? queryOf(below) : `?${OPENED}${opened.owner === null ? '' : `=${opened.owner}`}`
  try {
    const asked = { method: 'GET', target: `${NODE_BLOCKS_PATH}${cid}${query}`, headers: {}, body: null, signal }
    const answer = await sender.send(node, { ...asked, client: NO_CLIENT, whileLeaving: true })
    const bytes = await wholeUpTo(answer.body, LONGEST_BLOCK)
    if (bytes === null) throw new HoldfastError('BLOCK_DAMAGED', 'the answer is larger than a block may be')
    const until = answer.headers[LIVE_UNTIL_HEADER]
    return { status: answer.status, bytes, liveUntil: until === undefined ? null : Number(until) }
  } catch (cause) {
    signal.throwIfAborted()
    // A read changes nothing, so report a lost answer as a failure and not as an unknown outcome.
    if (isHoldfastError(cause) && cause.code !== 'OUTCOME_UNKNOWN') throw cause
    throw new HoldfastError('UNAVAILABLE', `the node ${node} did not answer for block ${cid}`, { cause })
  }
}

function queryOf(below: Below | undefined): string {
  return below === undefined ? '' : `?${BELOW}=${below.upper.toV1()}&by=${below.owner}`
}
