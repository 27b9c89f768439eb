import type { Static } from 'typebox'
import type * as accounts from '../../src/contract/admin/admin-accounts.ts'
import type * as upkeep from '../../src/contract/admin/admin-upkeep.ts'
import type * as watch from '../../src/contract/admin/admin-watch.ts'
import type * as nodes from '../../src/contract/admin/node-routes.ts'
import type * as takedowns from '../../src/contract/admin/takedown-routes.ts'
import type * as work from '../../src/contract/admin/work-routes.ts'
import type { PendingNode } from '../../src/domain/pending-nodes.ts'

/** A number of items, and their total size in bytes. */
export type Amount = Static<typeof upkeep.AmountView>
/** Statistics of a node. Times are in milliseconds since the epoch. */
export type NodeStats = Static<typeof upkeep.Stats>
/** Activity of a node during one span of time. Totals are as of the end of the span, and null if unknown. */
export type HistorySample = Static<typeof watch.SampleView>
/** Activity of a node since its start, oldest sample first. The last sample covers the span in progress. */
export type NodeHistory = Static<typeof watch.HistoryView>
/** A warning or an error that the node logged. */
export type Failure = Static<typeof watch.FailureView>
/** Addresses and connections of the node. */
export type NodePeers = Static<typeof watch.ConnectedPeers>
/** An account as the node's owner sees it. */
export type ManagedAccount = Static<typeof accounts.ManagedAccount>
/** One page of accounts, oldest first. */
export type AccountPage = Static<typeof accounts.ManagedAccounts>
/** Result of a garbage collection. */
export type Collected = Static<typeof upkeep.CollectedView>
/** Progress or result of a verification. */
export type Verified = Static<typeof upkeep.VerifiedView>
/** Content that the gateway refuses to serve. */
export type Takedown = Static<typeof takedowns.TakedownView>
/** The running backup, and the newest one that the node knows. */
export type BackupState = Static<typeof work.BackupStateView>
/** A node that shares the catalogue. */
export type KnownNode = Static<typeof nodes.NodeView>
/** A record whose content was lost with a node, until it is complete again. */
export type LostRecord = Static<typeof nodes.LostView>

/** Content to take down. */
export type NewTakedown = Pick<Takedown, 'cid' | 'reason'> & Partial<Pick<Takedown, 'path' | 'status'>>

/** A new takedown, and the nodes and threads that may still serve the content. */
export interface TakenDown extends Takedown {
  pending: PendingNode[]
}
