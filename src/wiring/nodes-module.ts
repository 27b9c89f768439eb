import { Possessor, PUBLIC } from '../ledger/possessor.ts'
import type { FleetMember, FleetParts } from '../nodes/fleet-system.ts'
import type { ClustersModule } from './clusters-module.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'
import { FLEET_SECRET } from './used-catalogue.ts'

export type NodesModule = ReturnType<typeof makeNodes>

/** Joins the fleet of nodes. `member` is null for a single node. */
export function makeNodes(
  { config, clock }: Setup,
  { storage, clusters: { registry, live, peersOf } }: { storage: StorageModule; clusters: ClustersModule },
): { member: FleetMember | null } {
  const { shared, fleetSystem, sealing, catalogue, soundHolds } = storage
  const { fleet = null } = shared ?? {}
  if (shared === null || fleet === null || fleetSystem === null || config.node === undefined) return { member: null }
  const { nodes, run } = fleet
  const secret = sealing.open(fleet.secret, FLEET_SECRET)
  const { places } = shared
  const partyOf: FleetParts['partyOf'] = owner => new Possessor(owner ?? PUBLIC, clock)
  const setOwner: FleetParts['setOwner'] = change => catalogue.records.setOwner({ ...change, now: clock.now() })
  const parts = { nodes, run, secret, places, partyOf, clusters: registry, live, peersOf, setOwner, soundHolds, clock }
  return { member: fleetSystem.join({ self: config.node.id, ...parts }) }
}
