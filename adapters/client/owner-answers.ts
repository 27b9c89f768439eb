import type { Usage } from './account-answers.ts'
import type { PinState } from './answers.ts'

/** How many there are of something, and their bytes together. */
export interface Amount {
  count: number
  bytes: number
}

/** How much a node holds. Times in milliseconds since the epoch. */
export interface NodeStats {
  accounts: number
  pins: Record<PinState, number>
  /** What counts against all quotas together. */
  accountedBytes: number
  roots: Record<'staging' | 'complete' | 'dropped', Amount>
  blocks: Record<'writing' | 'durable' | 'deleting', Amount>
  /** Blocks that a collection takes. */
  garbageBlocks: number
  /** Since when the oldest fetch is wanted that is still tried. */
  oldestFetchAt: number | null
  databaseBytes: number
  /** Room where blocks are: the data directory first, then those of clusters. */
  disks: { backend: number; freeBytes: number; reserveBytes: number; isFull: boolean }[]
  /** The round of verification under way, or the last one. */
  verification: { blocks: number; damaged: number; isRunning: boolean; endedAt: number | null }
  /** Connected ones. */
  peers: number
  /** Null if the node does not belong to the public network; missing in nodes that do not tell. */
  publicNetwork?: 'connected' | 'no-peers' | null
  /** Places that keep clusters elsewhere; missing in nodes that do not tell. */
  clusters?: {
    clusters: string[]
    peers: { peer: string; freeBytes: number | null; error: string | null }[]
    /** Why it could not be asked; null if it could, or was not yet. */
    error: string | null
    lookedAt: number | null
    /** DAGs that have still to get there, and that it has to let go of. */
    pins: number
    unpins: number
    /** Since when the oldest waits. */
    since: number | null
  }[]
  /** Milliseconds by which the node's clock is ahead of that of its PostgreSQL database; null without one. */
  clockSkewMs: number | null
}

/** What happened in a span of time, and how much there was at its end, null if that is not known. */
export interface HistorySample {
  /** When it began. */
  at: string
  requests: number
  /** Answered 4xx. */
  refused: number
  /** Answered 5xx. */
  failed: number
  receivedBytes: number
  sentBytes: number
  storedBytes: number | null
  pins: number | null
  freeBytes: number | null
  peers: number | null
}

/** What a node has done since its start, the oldest first; the last sample is still going on. */
export interface NodeHistory {
  stepSeconds: number
  samples: HistorySample[]
}

/** Something that went wrong. */
export interface Failure {
  at: string
  level: 'warn' | 'error'
  message: string
  /** What it was about. */
  about: Record<string, string | number>
}

/** Who is connected, and how the node is reached. */
export interface NodePeers {
  /** Null while networking is off. */
  peerId: string | null
  addresses: string[]
  /** The first 1,000 connections. */
  peers: { id: string; address: string; direction: 'inbound' | 'outbound'; since: string }[]
  /** How many peers are connected. */
  count: number
}

/** An account as the owner of a node sees it. */
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

/** One page of accounts, the oldest first. */
export interface AccountPage {
  accounts: ManagedAccount[]
  total: number
  pagination: { page: number; limit: number; total: number; totalPages: number }
}

/** What a collection has freed. */
export interface Collected {
  roots: number
  blocks: number
  bytes: number
}

/** How far a verification is, or its outcome. */
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
  /** Below the CID; empty for all of it. */
  path: string
  status: 410 | 451
  reason: string
  at: string
}
