import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../../src/content/block-source.ts'
import { isHoldfastError } from '../../src/domain/errors.ts'
import type { ApiHandler } from '../../src/http/api-messages.ts'
import type { FleetMember, FleetParts, FleetSystem } from '../../src/nodes/fleet-system.ts'
import { receiveForwarded } from './forwarded.ts'
import { NODE_BLOCKS_PATH, nodeBlocks } from './node-blocks.ts'
import { openNodeClient } from './node-client.ts'
import { nodeReader } from './node-reader.ts'
import { NodeSender } from './node-sender.ts'
import { type NodeContent, OtherContent } from './other-content.ts'
import { ForwardingNodes } from './other-nodes.ts'

export const fleetSystem: FleetSystem = { join: memberOf }

function memberOf(parts: FleetParts): FleetMember {
  const { nodes, clusters, live, secret, self, run, clock } = parts
  const http = openNodeClient()
  const sender = new NodeSender({ self, known: isFresh => nodes.all(isFresh), client: http, secret, clock })
  const blocks = nodeBlocks(clusters, live)
  return {
    content: new OtherContent(cid => open(parts, sender, cid)),
    readerOf: id => nodeReader(sender, id, clock),
    find: async cid => {
      const other = (await placesOf(parts, cid)).find(({ isLost }) => !isLost)
      return other === undefined ? null : { source: nodeReader(sender, other.id, clock) }
    },
    forwarding: newSlots => new ForwardingNodes({ clusters, sender, slots: newSlots(), handOvers: newSlots() }),
    receiving: (api, otherwise) => {
      const answer: ApiHandler = request => (request.path.startsWith(NODE_BLOCKS_PATH) ? blocks(request) : api(request))
      return receiveForwarded({ self, run, secret, now: () => clock.now() }, answer, otherwise)
    },
    start: look => nodes.start(look),
    leave: () => nodes.leave(),
    stop: async () => {
      await nodes.stop()
      await http.close()
    },
  }
}

async function placesOf({ places, nodes, self, clock }: FleetParts, cid: CID) {
  const found = await places.find(cid.multihash.bytes, clock.now())
  const known = await nodes.all()
  const others = found.flatMap(place => {
    const other = known.find(({ number }) => number === place.node)
    return other === undefined || other.id === self ? [] : [{ ...other, ...place }]
  })
  // Include unreachable nodes, because the content exists: a read must fail with `UNAVAILABLE`, not with `NOT_FOUND`.
  return [...others.filter(({ isThere }) => isThere), ...others.filter(({ isThere }) => !isThere)]
}

/**
 * Opens content for a visitor. For a file below a root, the node that has the file checks that a path to the file is
 * not taken down.
 */
async function open(parts: FleetParts, sender: NodeSender, cid: CID): Promise<NodeContent | null> {
  const { clock } = parts
  let refusal: unknown = null
  for (const { id, isRoot, liveUntil } of await placesOf(parts, cid)) {
    if (isRoot) return { source: nodeReader(sender, id, clock), liveUntil }
    try {
      const first = await nodeReader(sender, id, clock, cid).read(cid)
      return { source: startingWith(cid, first, nodeReader(sender, id, clock)), liveUntil }
    } catch (error) {
      refusal ??= isHoldfastError(error, 'NOT_FOUND') ? null : error
    }
  }
  if (refusal !== null) throw refusal
  return null
}

/** Returns a source whose first read of `first` returns `bytes`. */
function startingWith(first: CID, bytes: Uint8Array, source: BlockSource): BlockSource {
  let kept: Uint8Array | null = bytes
  return {
    read: async (cid, options) => {
      const given = kept
      if (given === null || !first.equals(cid)) return source.read(cid, options)
      kept = null
      return given
    },
  }
}
