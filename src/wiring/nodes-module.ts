import type { CID } from 'multiformats/cid'
import type { FleetNodes } from '../catalogue/fleet.ts'
import type { NodeWork, SharedCatalogue } from '../catalogue/shared-catalogue.ts'
import type { BlockSource } from '../content/block-source.ts'
import { isHoldfastError } from '../domain/errors.ts'
import { type ContentElsewhere, OtherContent } from '../gateway/source/other-content.ts'
import type { ApiHandler } from '../http/api-messages.ts'
import { takingPassedOn } from '../http/passed-on.ts'
import { NODE_BLOCKS_PATH, nodeBlocks } from '../nodes/node-blocks.ts'
import { nodeReader } from '../nodes/node-reader.ts'
import { NodeSender } from '../nodes/node-sender.ts'
import { openNodeClient } from '../outgoing/node-client.ts'
import type { ClustersModule } from './clusters-module.ts'
import { FLEET_SECRET } from './open-shared-catalogue.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

export type NodesModule = ReturnType<typeof makeNodes>

/** The other nodes on the same catalogue: what they are asked, what they ask, and what they leave to be done here. */
export function makeNodes(
  setup: Setup,
  { shared, work, sealing }: StorageModule,
  clusters: ClustersModule,
  here: LeftHere,
) {
  const { fleet = null } = shared ?? {}
  const { node } = setup.config
  if (shared === null || work === null || fleet === null || node === undefined) return alone
  const secret = sealing.open(fleet.secret, FLEET_SECRET)
  const follow = following(setup, work, here)
  return amongOthers(setup, clusters, { shared, nodes: fleet.nodes, run: fleet.run, secret, self: node.id, follow })
}

/** Does here what other nodes have left to be done. */
interface LeftHere {
  /** Looks who still waits for what is being fetched. */
  fetch: (fetchId: number) => Promise<void>
  /** Looks what the clusters that are kept elsewhere, for this node, are to be told. */
  placements: () => void
}

type Lifecycle = () => Promise<void>

/** A node that is the only one. */
const alone = {
  client: null as NodeSender | null,
  others: null as OtherContent | null,
  find: async (_cid: CID): Promise<ContentElsewhere | null> => null,
  taking: (_api: ApiHandler, otherwise: ApiHandler): ApiHandler => otherwise,
  /** Has the others ask nothing new of this one. */
  leave: (async () => undefined) as Lifecycle,
  start: (async () => undefined) as Lifecycle,
  stop: (async () => undefined) as Lifecycle,
}

interface Among {
  shared: SharedCatalogue
  nodes: FleetNodes
  /** This run of this node. */
  run: string
  /** Of the fleet. */
  secret: Uint8Array
  self: string
  /** Does what other nodes have left to be done here. */
  follow: () => void
}

function amongOthers(
  { clock }: Setup,
  { registry, live }: ClustersModule,
  { shared, nodes, run, secret, self, follow }: Among,
): typeof alone {
  const http = openNodeClient()
  const sender = new NodeSender({ self, known: () => nodes.all(), client: http, secret, clock })
  const placesOf = async (cid: CID) => {
    const found = await shared.places.find(cid.multihash.bytes, clock.now())
    const known = await nodes.all()
    const others = found.flatMap(place => {
      const other = known.find(({ number }) => number === place.node)
      return other === undefined || other.id === self ? [] : [{ ...other, ...place }]
    })
    // A node that is not there cannot be read, which is told: what it keeps is not gone.
    return [...others.filter(({ isThere }) => isThere), ...others.filter(({ isThere }) => !isThere)]
  }
  const find = async (cid: CID): Promise<ContentElsewhere | null> => {
    const [other] = await placesOf(cid)
    return other === undefined ? null : { source: nodeReader(sender, other.id, clock), liveUntil: other.liveUntil }
  }
  /** For strangers: of a file below a root only its node knows whether a path leads there that is not taken down. */
  const open = async (cid: CID): Promise<ContentElsewhere | null> => {
    let refused: unknown = null
    for (const { id, isRoot, liveUntil } of await placesOf(cid)) {
      if (isRoot) return { source: nodeReader(sender, id, clock), liveUntil }
      try {
        const first = await nodeReader(sender, id, clock, cid).read(cid)
        return { source: beginningWith(cid, first, nodeReader(sender, id, clock)), liveUntil }
      } catch (error) {
        refused ??= isHoldfastError(error, 'NOT_FOUND') ? null : error
      }
    }
    if (refused !== null) throw refused
    return null
  }
  const blocks = nodeBlocks(registry, live)
  return {
    client: sender,
    others: new OtherContent(open),
    find,
    taking: (api, otherwise) => {
      const answer: ApiHandler = request => (request.path.startsWith(NODE_BLOCKS_PATH) ? blocks(request) : api(request))
      return takingPassedOn({ self, run, secret, now: () => clock.now() }, answer, otherwise)
    },
    start: async () => {
      shared.changes.notices(name => {
        if (name === null || name === shared.node.name) follow()
      })
      await nodes.start(follow)
    },
    leave: () => nodes.leave(),
    stop: async () => {
      await nodes.stop()
      await http.close()
    },
  }
}

/** Gives the block that was read on opening, once, before it is read again. */
function beginningWith(first: CID, bytes: Uint8Array, source: BlockSource): BlockSource {
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

/** Does what is left to be done, and once more if it is called meanwhile. What fails is done at the next call. */
function following({ logger }: Setup, work: NodeWork, here: LeftHere): () => void {
  let isUnderWay = false
  let isWanted = false
  const once = async (): Promise<void> => {
    here.placements()
    await work.letGo()
    for (const fetch of await work.leftFetches()) {
      await here.fetch(fetch.id)
      await work.lookedAt(fetch)
    }
  }
  return () => {
    isWanted = true
    if (isUnderWay) return
    isUnderWay = true
    const all = async (): Promise<void> => {
      while (isWanted) {
        isWanted = false
        await once()
      }
    }
    all()
      .catch((err: unknown) => logger.warn({ err }, 'what other nodes have left to be done is done later'))
      .finally(() => {
        isUnderWay = false
      })
  }
}
