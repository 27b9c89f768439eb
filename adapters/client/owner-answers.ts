import type { PendingNode } from '../../src/domain/pending-nodes.ts'
import type { AccountEgress, Usage } from './account-answers.ts'
import type { PinState } from './answers.ts'

/** A number of items, and their total size in bytes. */
export interface Amount {
  count: number
  bytes: number
}

/** Statistics of a node. Times are in milliseconds since the epoch. */
export interface NodeStats {
  accounts: number
  pins: Record<PinState, number>
  /** Bytes that count against quotas. */
  accountedBytes: number
  /** Bytes that only deleted records name, in their undo period. Absent before version 0.4.0. */
  keptBytes?: number
  roots: Record<'staging' | 'complete' | 'dropped', Amount>
  blocks: Record<'writing' | 'durable' | 'deleting', Amount>
  /** Blocks that the next garbage collection deletes. */
  garbageBlocks: number
  oldestFetchAt: number | null
  databaseBytes: number
  /** First the data directory, then the directories of the clusters. */
  disks: { backend: number; freeBytes: number; reserveBytes: number; isFull: boolean }[]
  /** The running verification, or else the last one. */
  verification: { blocks: number; damaged: number; isRunning: boolean; endedAt: number | null; behindMs?: number }
  peers: number
  /** Null if the node is not part of the public network. Older nodes omit the field. */
  publicNetwork?: 'connected' | 'no-peers' | null
  /** The newest backup, in ms since the epoch. Null without directories for backups. Older nodes omit the field. */
  backups?: { newestAt: number | null } | null
  /** New roots to announce, provider records due for renewal, and the oldest record. Older nodes omit the field. */
  announcements?: { waiting: number; due: number; oldestAt: number | null } | null
  /** Remote cluster systems. Older nodes omit the field. */
  clusters?: {
    clusters: string[]
    peers: { peer: string; freeBytes: number | null; error: string | null }[]
    error: string | null
    lookedAt: number | null
    pins: number
    unpins: number
    /** Time of the oldest request for a pin that still waits. */
    since: number | null
  }[]
  /** Time by which the node's clock is ahead of its PostgreSQL server's. */
  clockSkewMs: number | null
}

/** Activity of a node during one span of time. Totals are as of the end of the span, and null if unknown. */
export interface HistorySample {
  at: string
  requests: number
  /** Requests answered with a 4xx status. */
  refused: number
  /** Requests answered with a 5xx status. */
  failed: number
  receivedBytes: number
  sentBytes: number
  storedBytes: number | null
  pins: number | null
  freeBytes: number | null
  peers: number | null
}

/** Activity of a node since its start, oldest sample first. The last sample covers the span in progress. */
export interface NodeHistory {
  stepSeconds: number
  samples: HistorySample[]
}

/** A warning or an error that the node logged. */
export interface Failure {
  at: string
  level: 'warn' | 'error'
  message: string
  about: Record<string, string | number>
}

/** Addresses and connections of the node. */
export interface NodePeers {
  /** Null while networking is off. */
  peerId: string | null
  addresses: string[]
  /** The first 1,000 connections. */
  peers: { id: string; address: string; direction: 'inbound' | 'outbound'; since: string }[]
  count: number
}

/** An account as the node's owner sees it. */
export interface ManagedAccount {
  id: string
  email: string
  name: string | null
  role: 'owner' | 'user'
  plan: string
  disabled: boolean
  createdAt: string
  usage: Usage
  egress: AccountEgress
}

/** One page of accounts, oldest first. */
export interface AccountPage {
  accounts: ManagedAccount[]
  total: number
  pagination: { page: number; limit: number; total: number; totalPages: number }
}

/** Result of a garbage collection. */
export interface Collected {
  roots: number
  blocks: number
  bytes: number
  /** Bytes that undo periods keep. Absent before version 0.4.0. */
  keptBytes?: number
}

/** Progress or result of a verification. */
export interface Verified {
  blocks: number
  bytes: number
  /** The first 1,000 damaged blocks, each with at most 100 roots that need the block. */
  damaged: { cid: string; reason: string; roots: string[] }[]
  damagedBlocks: number
}

/** Content that the gateway refuses to serve. */
export interface Takedown {
  cid: string
  /** Path below the CID. Empty if the takedown covers all content of the CID. */
  path: string
  status: 410 | 451
  reason: string
  at: string
}

/** Content to take down. */
export type NewTakedown = Pick<Takedown, 'cid' | 'reason'> & Partial<Pick<Takedown, 'path' | 'status'>>

/** A new takedown, and the nodes and threads that may still serve the content. */
export interface TakenDown extends Takedown {
  pending: PendingNode[]
}

/** The running backup, and the newest one that the node knows. */
export interface BackupState {
  /** False if the node knows no directory of backups. */
  hasRoots: boolean
  running: { blocks: number; bytes: number } | null
  newestAt: string | null
}

/** A node that shares the catalogue. */
export interface KnownNode {
  id: string
  url: string
  /** No later node gets the number. */
  number: number
  state: 'up' | 'leaving' | 'down'
  /** A `retired` or `forgotten` node has ended. */
  membership: 'active' | 'retiring' | 'retired' | 'forgetting' | 'forgotten'
  /** Since when it has this membership. */
  since: string
  /** True while a process runs as the node. */
  isLocked: boolean
  /** Its last sign of life. */
  seenAt: string | null
  /** Records whose content is on the node, and the bytes of this content. Up to ten seconds old. */
  records: number
  bytes: number
  /** Its records when it began to retire, or to be forgotten. */
  total: number | null
  /** Sentences about what the node waits for after a set-back of the database. Absent in answers of 0.3.0. */
  waits?: string[]
}

/** A record whose content was lost with a node, until it is complete again. */
export interface LostRecord {
  /** Id of the account. */
  account: string
  uploadId: string
  clusterId: string
  cid: string
  name: string | null
  size: number
  status: string
  reason: string | null
  /** Id of the lost node. */
  node: string
}
