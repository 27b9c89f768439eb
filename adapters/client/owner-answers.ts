import type { Usage } from './account-answers.ts'
import type { PinState } from './answers.ts'

/** A number of items, and their bytes together. */
export interface Amount {
  count: number
  bytes: number
}

/** Statistics of a node. Times in milliseconds since the epoch. */
export interface NodeStats {
  accounts: number
  pins: Record<PinState, number>
  /** Bytes that count against all quotas together. */
  accountedBytes: number
  roots: Record<'staging' | 'complete' | 'dropped', Amount>
  blocks: Record<'writing' | 'durable' | 'deleting', Amount>
  /** Blocks that garbage collection will delete. */
  garbageBlocks: number
  /** Request time of the oldest fetch in progress. */
  oldestFetchAt: number | null
  databaseBytes: number
  /** Disk space of the data directory, then of the clusters' directories. */
  disks: { backend: number; freeBytes: number; reserveBytes: number; isFull: boolean }[]
  /** Current verification, or the last one. */
  verification: { blocks: number; damaged: number; isRunning: boolean; endedAt: number | null }
  /** Connected peers. */
  peers: number
  /** Null if the node does not belong to the public network; missing from older nodes. */
  publicNetwork?: 'connected' | 'no-peers' | null
  /** Places of remote clusters; missing from older nodes. */
  clusters?: {
    clusters: string[]
    peers: { peer: string; freeBytes: number | null; error: string | null }[]
    /** Error of the last request to it; null if it succeeded or there was none. */
    error: string | null
    lookedAt: number | null
    /** DAGs that it must still pin, and unpin. */
    pins: number
    unpins: number
    /** Instant since which the oldest waits. */
    since: number | null
  }[]
  /** Milliseconds by which the node's clock is ahead of its PostgreSQL database; null without one. */
  clockSkewMs: number | null
}

/** Events in a span of time, and totals at its end, null if unknown. */
export interface HistorySample {
  /** Start of the span. */
  at: string
  requests: number
  /** Requests answered 4xx. */
  refused: number
  /** Requests answered 5xx. */
  failed: number
  receivedBytes: number
  sentBytes: number
  storedBytes: number | null
  pins: number | null
  freeBytes: number | null
  peers: number | null
}

/** Activity of a node since its start, the oldest first; the last sample is still in progress. */
export interface NodeHistory {
  stepSeconds: number
  samples: HistorySample[]
}

/** A failure. */
export interface Failure {
  at: string
  level: 'warn' | 'error'
  message: string
  /** Subject of the failure. */
  about: Record<string, string | number>
}

/** Connections of the node, and its addresses. */
export interface NodePeers {
  /** Null while networking is off. */
  peerId: string | null
  addresses: string[]
  /** The first 1,000 connections. */
  peers: { id: string; address: string; direction: 'inbound' | 'outbound'; since: string }[]
  /** Number of connected peers. */
  count: number
}

/** An account in the view of the node's owner. */
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

/** A page of accounts, the oldest first. */
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
}

/** Progress of a verification, or its result. */
export interface Verified {
  blocks: number
  bytes: number
  /** The first 1,000 damaged blocks, each with at most 100 roots. */
  damaged: { cid: string; reason: string; roots: string[] }[]
  damagedBlocks: number
}

/** Content that the gateway refuses. */
export interface Takedown {
  cid: string
  /** Path below the CID; empty for all of it. */
  path: string
  status: 410 | 451
  reason: string
  at: string
}
