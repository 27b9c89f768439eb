import type { BackendDefinition } from '../../../src/domain/cluster.ts'
import type { Draws } from '../../support/draws.ts'
import type { ApiProxy, Asked, Judge } from './proxy.ts'

/** A pin that a backend has. */
export interface PlacedPin {
  cid: string
  name: string
  /** Whether as many have it as are promised. */
  isKept: boolean
}

/** A content that somebody else has put there. */
export interface Foreign {
  cid: string
  /** SHA-256 of all of it, in hex. */
  hash: string
}

/** What goes on in the place of what would. */
export interface Liar {
  name: string
  judge: Judge
}

/** Something outside that keeps a cluster, run for a torture and treated badly by it. Behind proxies, so that it may move. */
export interface Place {
  /** What the configuration of a cluster says of it. */
  readonly backend: BackendDefinition
  /** What its API asks for, as a configuration has it. */
  readonly auth: string
  /** Before what is asked to pin and to let go. */
  readonly proxy: ApiProxy
  /** Bases of gateways that have all of what it has. */
  readonly gateways: readonly string[]
  /** What may be struck while it is asked; each comes back by {@link recover}. */
  readonly blows: readonly string[]
  /** Those of them after which it may have forgotten what it has said. */
  readonly forgetful: readonly string[]
  /** Kills some of it, as `kill -9` does. */
  strike(blow: string): Promise<void>
  /** Has all of it there again. */
  recover(): Promise<void>
  /** Resolves when all of it is of one mind. */
  settle(): Promise<void>
  /** Everything that is pinned, ours and others'. */
  pins(): Promise<PlacedPin[]>
  /** Puts content there as somebody else would, pinned under a name. */
  add(content: Buffer, name: string): Promise<Foreign>
  /** Pins as somebody else would what is there. False if it is not. */
  pinByHand(cid: string, name: string): Promise<boolean>
  unpinByHand(cid: string): Promise<void>
  /** Pins a root under a node's mark, which knows nothing of it. */
  pinAsMarked(mark: string, root: string): Promise<void>
  /** SHA-256 of a file below a root by what it has itself, in hex, of each that has it; null where it has not. */
  hashesOf(cid: string, path: string): Promise<Array<string | null>>
  /** How many of {@link hashesOf} have to have it. */
  readonly copies: number
  /** Frees what nothing needs. */
  collect(): Promise<void>
  /** Loses all content, and is there again. */
  loseAll(): Promise<void>
  isPinRequest(asked: Asked): boolean
  isUnpinRequest(asked: Asked): boolean
  /** One that says what is not so, about pins or about letting go. */
  liar(draws: Draws): Liar
  stop(): Promise<void>
}
