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

/**
 * The modules by which the nodes of one catalogue ask each other. Internal: the engine and the adapters of this package
 * change it together.
 */
export interface FleetSystem {
  /** Makes this node a member. It asks nothing, and is asked nothing, before it starts. */
  join(parts: FleetParts): FleetMember
}

export interface FleetParts {
  /** This node's id. */
  self: string
  nodes: Fleet['nodes']
  /** Random, made anew with each start. */
  run: string
  /** The opened secret of the fleet. */
  secret: Uint8Array
  places: SharedPlaces
  clusters: Pick<ClusterRegistry, 'nodeOf' | 'defaultCluster' | 'backends' | 'readerOf' | 'absent'>
  live: Pick<LiveContent, 'lease'>
  clock: Clock
}

/** A node among others. */
export interface FleetMember {
  /** Content of other nodes, for the gateway. */
  content: ContentOrigin
  /** Returns a reader of content that another node keeps, each block checked; null if none does. */
  find(cid: CID): Promise<{ source: BlockSource } | null>
  /**
   * Returns what forwards requests to the node that keeps their cluster.
   *
   * @param newSlots makes places for uploads, by account
   */
  forwarding(newSlots: () => Pick<Slots, 'enter'>): OtherNodes
  /** Returns a handler that gives `api` the requests of other nodes, and `otherwise` all others. */
  taking(api: ApiHandler, otherwise: ApiHandler): ApiHandler
  /** Tells the others that this node is there, and goes on. Calls `look` as often. */
  start(look: () => void): Promise<void>
  /** Has the others ask nothing new of this node. */
  leave(): Promise<void>
  stop(): Promise<void>
}

/** Loads the modules of a fleet, which this package has made. */
export async function loadFleet(fleet: Fleet): Promise<FleetSystem> {
  return (await fleet.load()) as FleetSystem
}
