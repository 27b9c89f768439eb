import type { CopyPlace } from '../../../src/catalogue/copies.ts'
import type { PartedNode } from './copy-network.ts'

export interface CopyMember extends PartedNode {
  run: number
  /** Holds in its ledger. */
  held: Set<number>
  /** An earlier state of the ledger. */
  backup: ReadonlySet<number>
}

export interface CopyHistoryRow {
  state: 'wanted' | 'have' | 'surplus' | 'going'
  hold: number | null
  /** The run of the node that has compared the row with its ledger. */
  run: number | null
  /** A surplus copy stays until then. */
  dueAt: number
}

export interface Freeing {
  node: CopyMember
  counted: CopyPlace[]
  sound: CopyPlace[]
}

export function isSamePlace(one: CopyPlace, other: CopyPlace): boolean {
  return one.node === other.node && one.run === other.run && one.hold === other.hold
}
