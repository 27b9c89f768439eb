import type { CID } from 'multiformats/cid'
import type { NodeWork } from '../catalogue/postgres/node-work.ts'
import type { Nodes } from '../catalogue/postgres/nodes.ts'
import type { SharedDatabase } from '../catalogue/postgres/shared-database.ts'
import { SharedPlaces } from '../catalogue/postgres/shared-places.ts'
import { type ContentElsewhere, OtherContent } from '../gateway/source/other-content.ts'
import { takingPassedOn } from '../http/passed-on.ts'
import type { ApiHandler } from '../http/types.ts'
import { openNodeClient } from '../network/node-client.ts'
import { NODE_BLOCKS_PATH, nodeBlocks } from '../nodes/node-blocks.ts'
import { nodeReader } from '../nodes/node-reader.ts'
import { NodeSender } from '../nodes/node-sender.ts'
import type { ClustersModule } from './clusters.ts'
import type { Setup } from './setup.ts'
import { FLEET_SECRET } from './shared-catalogue.ts'
import type { StorageModule } from './storage.ts'

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
  return amongOthers(setup, clusters, { shared, nodes: fleet.nodes, secret, self: node.id, follow })
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
  shared: SharedDatabase
  nodes: Nodes
  /** Of the fleet. */
  secret: Uint8Array
  self: string
  /** Does what other nodes have left to be done here. */
  follow: () => void
}

function amongOthers(
  { clock }: Setup,
  { registry }: ClustersModule,
  { shared, nodes, secret, self, follow }: Among,
): typeof alone {
  const http = openNodeClient()
  const sender = new NodeSender({ self, known: () => nodes.all(), client: http, secret, clock })
  const places = new SharedPlaces(shared.database)
  const find = async (cid: CID): Promise<ContentElsewhere | null> => {
    const found = await places.find(cid.multihash.bytes, clock.now())
    const known = await nodes.all()
    const others = found.flatMap(({ node, liveUntil }) => {
      const other = known.find(({ number }) => number === node)
      return other === undefined || other.id === self ? [] : [{ ...other, liveUntil }]
    })
    // A node that is not there cannot be read, which is told: what it keeps is not gone.
    const other = others.find(({ isThere }) => isThere) ?? others[0]
    return other === undefined ? null : { source: nodeReader(sender, other.id, clock), liveUntil: other.liveUntil }
  }
  const blocks = nodeBlocks(registry)
  return {
    client: sender,
    others: new OtherContent(find),
    find,
    taking: (api, otherwise) => {
      const answer: ApiHandler = request => (request.path.startsWith(NODE_BLOCKS_PATH) ? blocks(request) : api(request))
      return takingPassedOn({ self, secret, now: () => clock.now() }, answer, otherwise)
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
