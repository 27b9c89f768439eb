import type { BackendDefinition } from '../../../src/domain/cluster.ts'
import type { Draws } from '../../support/draws.ts'
import type { ApiProxy, Asked, Judge } from './proxy.ts'

/** A pin that a backend reports. */
export interface PlacedPin {
  cid: string
  name: string
  /** True if the required number of copies exists. */
  isKept: boolean
}

/** A content that another client has stored in the backend. */
export interface Foreign {
  cid: string
  /** SHA-256 of the whole content, in hex. */
  hash: string
}

/** A rule of the proxy that answers falsely in the backend's stead. */
export interface Liar {
  name: string
  judge: Judge
}

/**
 * A backend outside Holdfast, run and damaged by a torture test. Proxies stand in front of it, so
 * that its ports may change.
 */
export interface Place {
  /** Backend in the configuration of a cluster. */
  readonly backend: BackendDefinition
  /** Credentials of its API, in the form of a backend's configuration. */
  readonly auth: string
  /** Proxy in front of its API. */
  readonly proxy: ApiProxy
  /** Base URLs of gateways that serve its content. */
  readonly gateways: readonly string[]
  /** Failures that can strike it under load. {@link recover} ends each. */
  readonly blows: readonly string[]
  /** Failures after which it may have lost acknowledged pins. */
  readonly forgetful: readonly string[]
  /** Kills a part of it with SIGKILL. */
  strike(blow: string): Promise<void>
  /** Starts whatever does not run. */
  recover(): Promise<void>
  /** Resolves when all its members agree on the pins. */
  settle(): Promise<void>
  /** Returns all pins, ours and those of others. */
  pins(): Promise<PlacedPin[]>
  /** Adds and pins content as another client would. */
  add(content: Buffer, name: string): Promise<Foreign>
  /** Pins existing content as another client would. Returns false if the backend does not have it. */
  pinByHand(cid: string, name: string): Promise<boolean>
  unpinByHand(cid: string): Promise<void>
  /** Pins a root under a node's mark without the node's knowledge. */
  pinAsMarked(mark: string, root: string): Promise<void>
  /**
   * Returns the SHA-256 in hex of a file below a root from each member, without fetching; null for a member that lacks
   * it.
   */
  hashesOf(cid: string, path: string): Promise<Array<string | null>>
  /** Number of members that must have a copy. */
  readonly copies: number
  /** Runs its garbage collection. */
  collect(): Promise<void>
  /** Deletes all its content and restarts it empty. */
  loseAll(): Promise<void>
  isPinRequest(asked: Asked): boolean
  isUnpinRequest(asked: Asked): boolean
  /** Returns a rule that answers falsely, about pins or about unpins. */
  liar(draws: Draws): Liar
  stop(): Promise<void>
}
