import type { CID } from 'multiformats/cid'
import type { Fleet, SharedPlaces } from '../catalogue/fleet.ts'
import type { BackendStatus } from '../clusters/cluster-backend.ts'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import type { Slots } from '../concurrency/slots/slots.ts'
import type { BlockSource } from '../content/block-source.ts'
import type { LiveContent } from '../content/live-content.ts'
import type { TakenSource } from '../content/taken-source.ts'
import type { Clock } from '../domain/clock.ts'
import type { ContentOrigin } from '../gateway/source/request-blocks.ts'
import type { ApiHandler } from '../http/api-messages.ts'
import type { OtherNodes } from '../http/pipeline.ts'
import type { DagIdentity } from '../ipld/cid.ts'
import type { Possessor } from '../ledger/possessor.ts'

/**
 * Communication between the nodes of one catalogue. Internal, because it changes together with the adapters of this
 * package.
 */
export interface FleetSystem {
  /** Joins the fleet. Until the member is started, it neither sends nor answers requests. */
  join(parts: FleetParts): FleetMember
}

export interface FleetParts {
  self: string
  nodes: Fleet['nodes']
  /** Random value, new at each start of the node. */
  run: string
  /** The unsealed secret with which nodes authenticate to each other. */
  secret: Uint8Array
  places: SharedPlaces
  /** Returns the party of reads by the account with a number, or with null by strangers. */
  partyOf: (owner: number | null) => Possessor
  clusters: Pick<
    ClusterRegistry,
    'nodeOf' | 'nodesOf' | 'mayReceive' | 'defaultCluster' | 'backends' | 'readerOf' | 'absent'
  >
  live: Pick<LiveContent, 'lease' | 'isBelow'>
  /** Returns the peers of a cluster that this node keeps. Null as in {@link FleetMember.peersOf}. */
  peersOf: (clusterId: string, dag: DagIdentity) => Promise<BackendStatus['allocations'] | null>
  /** Gives a record of this node another owner, for another node. */
  setOwner: (change: Omit<OwnerOnNode, 'node'>) => Promise<unknown>
  /** Returns which holds keep complete content in the ledger of this node, without known damage. */
  soundHolds: (ids: readonly string[]) => string[]
  clock: Clock
}

/** Holds of the ledger of a node. */
export interface HoldsOnNode {
  /** Run of the node. */
  run: string
  /** Those of the holds in question that keep complete content, without known damage. */
  held: readonly string[]
}

/** Another owner of a record, for the node that keeps its content. */
export interface OwnerOnNode {
  node: string
  accountId: string
  /** Id of the record. */
  id: string
  owner: number
}

export interface FleetMember {
  content: ContentOrigin
  /**
   * Returns a source of any block on one of the nodes, which checks each received block. It asks the next node if one
   * fails, or gives no block within a second.
   */
  readerOf(...ids: string[]): BlockSource
  /** Returns content on another node that a possessor may use. The source checks each received block. */
  find(cid: CID, by: Possessor): Promise<{ source: TakenSource } | null>
  /**
   * Returns the peers that keep a DAG of an external cluster, which another node keeps. Returns null if the cluster is
   * not external, or if the node or the cluster does not answer within five seconds.
   */
  peersOf(node: string, cluster: string, dag: DagIdentity): Promise<BackendStatus['allocations'] | null>
  /**
   * Returns the node that receives new content of a cluster: the first one that is up. Null for this node.
   * @param away nodes that have just proved to be away
   */
  receiverOf(clusterId: string, away?: ReadonlySet<string>): Promise<string | null>
  /** Asks a node which holds its ledger has. Returns null if it does not answer. */
  holdsOn(node: string, holds: readonly string[]): Promise<HoldsOnNode | null>
  /**
   * Gives a record on another node another owner, if the account still has it.
   * @throws HoldfastError `CONFLICT` if the content has not arrived; `UNAVAILABLE` if the node does not follow
   */
  setOwner(change: OwnerOnNode): Promise<void>
  /**
   * Forwards a request to the node that keeps the request's cluster.
   * @param newSlots creates the upload slots, which are divided among accounts
   */
  forwarding(newSlots: () => Pick<Slots, 'enter'>): OtherNodes
  /** Returns a handler that passes requests of other nodes to `api`, and all other requests to `otherwise`. */
  receiving(api: ApiHandler, otherwise: ApiHandler): ApiHandler
  /** Tells nodes that they should copy new content. Does not wait for their answers. */
  announceCopies(nodes: readonly string[]): void
  /**
   * Starts the heartbeat, with which this node reports itself to other nodes. Calls `onCopies` when another node announces
   * content for this node.
   */
  start(onBeat: () => void, onCopies?: () => void): Promise<void>
  /** Asks the other nodes to send no new requests to this node. */
  leave(): Promise<void>
  /** Returns whether another node runs. */
  hasOthers(): Promise<boolean>
  /**
   * Resolves when the responses of other nodes that read from this node at the time of the call have ended. With
   * `isLast`, these nodes begin no more responses that need this run of this node.
   */
  readsEnded(options: { isLast: boolean; signal: AbortSignal }): Promise<void>
  stop(): Promise<void>
}

export async function loadFleet(fleet: Fleet): Promise<FleetSystem> {
  return (await fleet.load()) as FleetSystem
}
