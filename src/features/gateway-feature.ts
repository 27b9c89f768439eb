import type { Datastore } from 'interface-datastore'
import type { CID } from 'multiformats/cid'
import type { Slots } from '../concurrency/slots/slots.ts'
import type { CompleteConfig } from '../config/config.ts'
import type { Clock } from '../domain/clock.ts'
import type { Logger } from '../domain/logger.ts'
import type { Metrics } from '../domain/metrics.ts'
import type { NetworkNode } from '../network/network-node.ts'

/** Parts of a thread for features at a gateway. */
export interface ThreadParts {
  /** Returns null if the gateway does not serve the CID to everyone. @throws HoldfastError `UNAVAILABLE` */
  served(cid: CID, signal: AbortSignal): Promise<{ isLocal: boolean } | null>
  /** Asks the engine a question that the list of features answers. */
  ask(question: string): Promise<unknown>
  /** The slots of the gateway. */
  slots: Pick<Slots, 'enter'>
  options: CompleteConfig['gateway']
  clock: Clock
  logger: Logger
  metrics: Pick<Metrics, 'request' | 'answered' | 'finished'>
}

/** Parts of the engine for features at a gateway. */
export interface EngineParts {
  options: CompleteConfig['gateway']
  network: Pick<NetworkNode, 'peerId' | 'announced'> | null
  datastore: Datastore
  /** Loads the packages for the identity of a node without a network. */
  loadIdentity(): Promise<{ peerIdOf(datastore: Datastore): Promise<string> }>
}
