import type { KeyService } from '../access/key-service.ts'
import type { PlanCatalogue } from '../access/plan-catalogue.ts'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import type { PinService } from '../pins/pin-service.ts'

export type Pins = Pick<
  PinService,
  | 'upload'
  | 'uploadDirectory'
  | 'importDirectory'
  | 'pin'
  | 'remove'
  | 'list'
  | 'usage'
  | 'checkTarget'
  | 'status'
  | 'dag'
  | 'rename'
>
/** The node as the network sees it. */
export interface Peers {
  /** Connected ones; 0 while networking is off. */
  peerCount(): number
}
export type Clusters = Pick<ClusterRegistry, 'allowed'>
export type Plans = Pick<PlanCatalogue, 'names' | 'get'>
export type Keys = Pick<KeyService, 'generate' | 'list' | 'revoke'>

/** What the contract's handlers are made of. */
export interface ContractServices {
  pins: Pins
  clusters: Clusters
  keys: Keys
  plans: Plans
  peers: Peers
  /** Of the software. */
  version: string
}
