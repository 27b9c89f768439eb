import type { Principal, Scope } from '../access/principal.ts'
import type { Cluster } from '../clusters/cluster-registry.ts'
import type { Plan } from '../domain/plan.ts'
import type {
  ByteSource,
  DirectoryEntry,
  DirectoryOutcome,
  ListPage,
  ListQuery,
  PinOutcome,
  PinRequest,
  PinTarget,
  UploadOptions,
  Usage,
} from '../pins/types.ts'

/** What the contract asks of the pins; errors as `PinService` documents them. */
export interface Pins {
  upload(content: ByteSource, options: UploadOptions): Promise<PinOutcome>
  uploadDirectory(entries: AsyncIterable<DirectoryEntry>, options: UploadOptions): Promise<DirectoryOutcome>
  importDirectory(path: string, options: UploadOptions): Promise<PinOutcome>
  pin(request: PinRequest): Promise<PinOutcome>
  remove(request: { account: string; cid: string; cluster?: string | undefined }): Promise<void>
  list(query: ListQuery): ListPage
  usage(accountId: string): Usage
  checkTarget(account: string, target: PinTarget): void
}

export interface Clusters {
  allowed(plan: Plan): readonly Cluster[]
}

/** An API key as its owner may see it. Times are milliseconds since the epoch, null for never. */
export interface KeySummary {
  name: string
  label: string | null
  prefix: string
  scopes: readonly Scope[]
  ipAllowlist: readonly string[]
  createdAt: number
  lastUsedAt: number | null
  expiresAt: number | null
}

export interface KeyRequest {
  name: string
  label?: string | undefined
  scopes?: readonly Scope[] | undefined
  /** Words of older clients: `read`, `write`, `admin`. */
  permissions?: readonly string[] | undefined
  /** 0 for no expiry. */
  expiresInDays?: number | undefined
  ipAllowlist?: readonly string[] | undefined
}

export interface Keys {
  generate(principal: Principal, request: KeyRequest): Promise<{ secret: string; key: KeySummary }>
  list(accountId: string): readonly KeySummary[]
  revoke(principal: Principal, name: string): Promise<void>
}

export interface ContractServices {
  pins: Pins
  clusters: Clusters
  keys: Keys
  /** Of the software. */
  version: string
}
