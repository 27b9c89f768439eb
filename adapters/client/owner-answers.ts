import type { Usage } from './account-answers.ts'
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
  /** Bytes that count against quotas, summed over all accounts. */
  accountedBytes: number
  roots: Record<'staging' | 'complete' | 'dropped', Amount>
  blocks: Record<'writing' | 'durable' | 'deleting', Amount>
  /** Number of blocks that the next garbage collection deletes. */
  garbageBlocks: number
  /** Time at which the oldest unfinished fetch was requested. Null if no fetch is unfinished. */
  oldestFetchAt: number | null
  databaseBytes: number
  /** Disk space of each backend: first the data directory, then the directories of the clusters. */
  disks: { backend: number; freeBytes: number; reserveBytes: number; isFull: boolean }[]
  /** The running verification, or the last one if none is running. */
  verification: { blocks: number; damaged: number; isRunning: boolean; endedAt: number | null }
  /** Number of connected peers. */
  peers: number
  /** Connection to the public network. Null if the node is not part of the network. Older nodes omit the field. */
  publicNetwork?: 'connected' | 'no-peers' | null
  /** State of each remote cluster system. Older nodes omit the field. */
  clusters?: {
    clusters: string[]
    peers: { peer: string; freeBytes: number | null; error: string | null }[]
    /** Error of the last check of the system. Null if the check succeeded, or if there was none. */
    error: string | null
    lookedAt: number | null
    /** Number of DAGs that the system must still pin. `unpins` is the number that it must still unpin. */
    pins: number
    unpins: number
    /** Time at which the oldest waiting pin was requested. Null if no pin waits. */
    since: number | null
  }[]
  /** Milliseconds by which the node's clock is ahead of its PostgreSQL server. Null if the node uses no PostgreSQL. */
  clockSkewMs: number | null
}

/**
 * Activity of a node during one span of time. Totals are as of the end of the span. A total is null if it is unknown.
 */
export interface HistorySample {
  /** Start of the span. */
  at: string
  requests: number
  /** Number of requests answered with a 4xx status. */
  refused: number
  /** Number of requests answered with a 5xx status. */
  failed: number
  receivedBytes: number
  sentBytes: number
  storedBytes: number | null
  pins: number | null
  freeBytes: number | null
  peers: number | null
}

/** Activity of a node since its start, oldest sample first. The last sample covers the time span in progress. */
export interface NodeHistory {
  stepSeconds: number
  samples: HistorySample[]
}

/** A warning or an error that the node logged. */
export interface Failure {
  at: string
  level: 'warn' | 'error'
  message: string
  /** Names and values that the warning or error is about. */
  about: Record<string, string | number>
}

/** Addresses and connections of the node. */
export interface NodePeers {
  /** Peer id of the node. Null while networking is off. */
  peerId: string | null
  addresses: string[]
  /** The first 1,000 connections of the node. */
  peers: { id: string; address: string; direction: 'inbound' | 'outbound'; since: string }[]
  /** Number of connected peers. */
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
}

/** One page of accounts, oldest first. */
export interface AccountPage {
  accounts: ManagedAccount[]
  total: number
  pagination: { page: number; limit: number; total: number; totalPages: number }
}

/** Number of roots and blocks that a garbage collection deleted, and the bytes freed. */
export interface Collected {
  roots: number
  blocks: number
  bytes: number
}

/** Progress or result of a verification. */
export interface Verified {
  blocks: number
  bytes: number
  /** The first 1,000 damaged blocks. Each lists at most 100 roots that need the block. */
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
