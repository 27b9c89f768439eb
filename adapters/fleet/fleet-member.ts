import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../../src/content/block-source.ts'
import { BlocksOfNode } from '../../src/content/taken-source.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { isHoldfastError } from '../../src/domain/errors.ts'
import type { ApiHandler } from '../../src/http/api-messages.ts'
import type { FleetMember, FleetParts, FleetSystem } from '../../src/nodes/fleet-system.ts'
import { receiveForwarded } from './forwarded.ts'
import { NODE_BLOCKS_PATH, nodeBlocks } from './node-blocks.ts'
import { openNodeClient } from './node-client.ts'
import { CopyNews, NODE_COPIES_PATH, nodeCopies } from './node-copies.ts'
import { holdsOnNode, NODE_HOLDS_PATH, nodeHolds } from './node-holds.ts'
import { NODE_OWNERS_PATH, nodeOwners, setOwnerOnNode } from './node-owners.ts'
import { NODE_PEERS_PATH, nodePeers, peersOnNode } from './node-peers.ts'
import { type Below, nodeReader } from './node-reader.ts'
import { NODE_READINGS_PATH, NodeReadings, nodeReadings, readingsEnded } from './node-readings.ts'
import { NodeSender } from './node-sender.ts'
import { type NodeContent, OtherContent } from './other-content.ts'
import { ForwardingNodes } from './other-nodes.ts'
import { firstAnswer, PlaceSource } from './place-source.ts'

export const fleetSystem: FleetSystem = { join: memberOf }

function memberOf(parts: FleetParts): FleetMember {
  const { nodes, clusters, live, secret, self, run, clock } = parts
  const http = openNodeClient()
  const known = lastKnown(nodes)
  const sender = new NodeSender({ self, known, client: http, secret, clock })
  const blocks = nodeBlocks(clusters, live)
  const peers = nodePeers(parts.peersOf)
  const owners = nodeOwners(parts.setOwner)
  const holds = nodeHolds(parts)
  const news = new CopyNews(sender, clock)
  let onNews = (): void => undefined
  const copies = nodeCopies(() => onNews())
  const readings = new NodeReadings()
  const runOf = async (id: string): Promise<string | null> => (await known()).find(node => node.id === id)?.run ?? null
  const ended = nodeReadings(readings, runOf)
  const receiverOf: FleetMember['receiverOf'] = (cluster, away) => firstUp(parts, known, cluster, away)
  const others = async () => (await known()).filter(({ id, isThere }) => id !== self && isThere)
  const means = { sender, readings, known, others }
  return {
    content: new OtherContent((cid, owner) => open(parts, means, { cid, owner })),
    readerOf: (...ids) => sourceOf(ids, id => nodeReader(sender, id, clock), clock),
    find: async (cid, by) => {
      const others = (await placesOf(parts, known, { cid, by })).filter(({ isLost }) => !isLost)
      if (others.length === 0) return null
      return { source: new BlocksOfNode(sourceBelow(sender, clock, others, { upper: cid, owner: by.owner })) }
    },
    peersOf: (node, cluster, dag) => peersOnNode(sender, clock, { node, cluster, dag }),
    receiverOf,
    holdsOn: (node, ids) => holdsOnNode(sender, clock, node, ids),
    setOwner: change => setOwnerOnNode(sender, clock, change),
    forwarding: newSlots =>
      new ForwardingNodes({ clusters, receiverOf, sender, slots: newSlots(), handOvers: newSlots() }),
    receiving: (api, otherwise) => {
      const answer: ApiHandler = request => {
        if (request.path.startsWith(NODE_BLOCKS_PATH)) return blocks(request)
        if (request.path.startsWith(NODE_PEERS_PATH)) return peers(request)
        if (request.path.startsWith(NODE_OWNERS_PATH)) return owners(request)
        if (request.path === NODE_HOLDS_PATH) return holds(request)
        if (request.path === NODE_COPIES_PATH) return copies(request)
        return request.path === NODE_READINGS_PATH ? ended(request) : api(request)
      }
      return receiveForwarded({ self, run, secret, now: () => clock.now() }, answer, otherwise)
    },
    announceCopies: others => news.tell(others),
    start: (onBeat, onCopies) => {
      onNews = onCopies ?? onNews
      return nodes.start(onBeat)
    },
    leave: () => nodes.leave(),
    hasOthers: async () => (await others().catch(() => [])).length > 0,
    readsEnded: async how => {
      const asked = (await others().catch(() => [])).map(({ id }) => readingsEnded(sender, id, how))
      await Promise.all(asked)
    },
    stop: async () => {
      news.stop()
      await nodes.stop()
      await http.close()
    },
  }
}

/** Returns the nodes as the database last listed them, because blocks are still read while it cannot be reached. */
function lastKnown(nodes: FleetParts['nodes']): (isFresh?: boolean) => Promise<KnownNode[]> {
  let last: KnownNode[] | null = null
  return async isFresh => {
    try {
      last = await nodes.all(isFresh)
      return last
    } catch (error) {
      if (last === null) throw error
      return last
    }
  }
}

/** Returns the first node of a cluster that is up, or else its first node. Asks nothing if the cluster has one node. */
async function firstUp(
  { clusters, self }: Pick<FleetParts, 'clusters' | 'self'>,
  known: Means['known'],
  clusterId: string,
  away: ReadonlySet<string> = new Set(),
): Promise<string | null> {
  const nodes = clusters.nodesOf(clusterId)
  const first = clusters.nodeOf(clusterId)
  if (first === null || nodes.length < 2) return first
  const up = new Set((await known()).flatMap(({ id, isThere, isLeaving }) => (isThere && !isLeaving ? id : [])))
  const found = nodes.find(id => id === self || (up.has(id) && !away.has(id))) ?? first
  return found === self ? null : found
}

type KnownNode = Awaited<ReturnType<FleetParts['nodes']['all']>>[number]

interface Means {
  sender: NodeSender
  readings: NodeReadings
  known: (isFresh?: boolean) => Promise<KnownNode[]>
  others: () => Promise<KnownNode[]>
}

interface FoundPlace extends KnownNode {
  liveUntil: number | null
  isRoot: boolean
  /** Multicodec code of the root. Null if the root is unknown. */
  codec: number | null
}

async function placesOf(
  { places, self }: FleetParts,
  known: Means['known'],
  { cid, by }: { cid: CID; by: ReturnType<FleetParts['partyOf']> },
): Promise<FoundPlace[]> {
  const found = await places.find(cid.multihash.bytes, by)
  const nodes = await known()
  const others = found.flatMap(place => {
    const other = nodes.find(({ number }) => number === place.node)
    return other === undefined || other.id === self ? [] : [{ ...other, ...place }]
  })
  // Include unreachable nodes, because the content exists: a read must fail with `UNAVAILABLE`, not with `NOT_FOUND`.
  return [...others.filter(({ isThere }) => isThere), ...others.filter(({ isThere }) => !isThere)]
}

interface Asked {
  cid: CID
  /** Number of the account that reads; null for a stranger. */
  owner: number | null
}

/**
 * Returns the nodes that have the content. If the database cannot be reached, returns all other nodes for a stranger:
 * each node knows what it may serve.
 */
async function placesOrAll(parts: FleetParts, { known, others }: Means, { cid, owner }: Asked): Promise<FoundPlace[]> {
  try {
    return await placesOf(parts, known, { cid, by: parts.partyOf(owner) })
  } catch (error) {
    if (!isHoldfastError(error, 'UNAVAILABLE') || owner !== null) throw error
    const all = await others()
    if (all.length === 0) throw error
    return all.map(node => ({ ...node, isRoot: false, codec: null, liveUntil: null }))
  }
}

/**
 * Opens content for a stranger or an account. For a file below a root, the node that has the file checks that a path to
 * the file is not taken down.
 */
async function open(parts: FleetParts, means: Means, asked: Asked): Promise<NodeContent | null> {
  let refusal: unknown = null
  const places = await placesOrAll(parts, means, asked)
  if (places.length === 0) return null
  const questions = places.map(place => async (signal: AbortSignal) => {
    try {
      return await openAt(parts, means, { ...asked, place, places, signal })
    } catch (error) {
      refusal ??= isHoldfastError(error, 'NOT_FOUND') ? null : error
      throw error
    }
  })
  return firstAnswer(questions, parts.clock).catch(() => {
    if (refusal !== null) throw refusal
    return null
  })
}

async function openAt(
  { clock, partyOf }: FleetParts,
  { sender, readings }: Means,
  { place, places, signal, ...asked }: Asked & { place: FoundPlace; places: FoundPlace[]; signal: AbortSignal },
): Promise<NodeContent> {
  const { id, run, isRoot, liveUntil } = place
  readings.check(id, run)
  const release = readings.begin(id)
  try {
    // If the node fails in the middle of the response, another place continues.
    const below = { upper: asked.cid, owner: partyOf(asked.owner).owner }
    const source = sourceBelow(sender, clock, [place, ...places], below)
    if (isRoot) return { source, liveUntil, release }
    let until = liveUntil
    const onLiveUntil = (told: number | null): void => {
      until ??= told
    }
    const first = await nodeReader(sender, id, clock, { opened: { ...asked, onLiveUntil } }).read(asked.cid, { signal })
    // Another node was faster.
    signal.throwIfAborted()
    return { source: startingWith(asked.cid, first, source), liveUntil: until, release }
  } catch (error) {
    release()
    throw error
  }
}

/** Returns a source of blocks on one of the nodes, in the order in which they are asked. */
function sourceOf(nodes: readonly string[], readerOf: (node: string) => BlockSource, clock: Clock): BlockSource {
  return new PlaceSource([...new Set(nodes)].map(readerOf), clock)
}

/**
 * Returns a source of the blocks below a CID. A node with a root of this CID has all of them for its reader. Other nodes
 * may have the bytes as a block of another codec, so they check each block.
 */
function sourceBelow(sender: NodeSender, clock: Clock, places: readonly FoundPlace[], below: Below): BlockSource {
  const { code } = below.upper
  const whole = new Set(places.flatMap(({ id, isRoot, codec }) => (isRoot && codec === code ? id : [])))
  const readerOf = (id: string) => nodeReader(sender, id, clock, whole.has(id) ? {} : { below })
  return sourceOf(
    places.map(({ id }) => id),
    readerOf,
    clock,
  )
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
