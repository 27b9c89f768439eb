import type { CID } from 'multiformats/cid'
import type { Fleet, SharedPlaces } from '../catalogue/fleet.ts'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import type { Slots } from '../concurrency/slots.ts'
import type { BlockSource } from '../content/block-source.ts'
import type { LiveContent } from '../content/live-content.ts'
import type { Clock } from '../domain/clock.ts'
import type { ContentOrigin } from '../gateway/source/request-blocks.ts'
import type { ApiHandler } from '../http/api-messages.ts'
import type { OtherNodes } from '../http/pipeline.ts'

/** Communication between the nodes of one catalogue. Internal: it changes with the adapters of this package. */
export interface FleetSystem {
  /** Makes this node a member. Until the member starts, it neither sends nor answers requests. */
  join(parts: FleetParts): FleetMember
}

export interface FleetParts {
  /** Id of this node. */
  self: string
  nodes: Fleet['nodes']
  /** Random id of this run of the node. */
  run: string
  /** Secret of the fleet, unsealed. */
  secret: Uint8Array
  places: SharedPlaces
  clusters: Pick<ClusterRegistry, 'nodeOf' | 'defaultCluster' | 'backends' | 'readerOf' | 'absent'>
  live: Pick<LiveContent, 'lease'>
  clock: Clock
}

/** This node as a member of the fleet. */
export interface FleetMember {
  /** Content of other nodes, for the gateway. */
  content: ContentOrigin
  /** Returns a reader of content on another node, which checks each block; null if no node has it. */
  find(cid: CID): Promise<{ source: BlockSource } | null>
  /**
   * Returns a service that forwards requests to the node that keeps their cluster.
   *
   * @param newSlots makes the upload slots, shared by account
   */
  forwarding(newSlots: () => Pick<Slots, 'enter'>): OtherNodes
  /** Returns a handler that sends requests of other nodes to `api`, and all others to `otherwise`. */
  receiving(api: ApiHandler, otherwise: ApiHandler): ApiHandler
  /** Starts the heartbeat by which other nodes see this one. Calls `onBeat` with each beat. */
  start(onBeat: () => void): Promise<void>
  /** Asks the other nodes to send no new requests to this one. */
  leave(): Promise<void>
  stop(): Promise<void>
}

/** Loads the communication between nodes from the catalogue's adapter. */
export async function loadFleet(fleet: Fleet): Promise<FleetSystem> {
  return (await fleet.load()) as FleetSystem
}
