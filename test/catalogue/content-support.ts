import type { CommitIntent, NewRecord, PinLimits, RecordRow, RecordSearch } from '../../src/catalogue/index.ts'
import type { HoldfastError } from '../../src/index.ts'
import type { ContentCatalogue } from './memory-catalogue.ts'

/**
 * A test of content that every catalogue must pass. It gets an empty catalogue with {@link ACCOUNTS} and the backends
 * {@link EXTERNAL}.
 */
export interface ContentRule {
  name: string
  run(catalogue: ContentCatalogue): Promise<void>
}

export const ACCOUNTS = ['one', 'two'] as const
export const AWAY = 1
export const EXTERNAL: ReadonlySet<number> = new Set([AWAY, 2])

export const NOW = 1_000
export const NO_LIMITS: PinLimits = { maxPins: null, maxStorageBytes: null, maxQueuedPins: null }
export const SIZES = { owner: 0, contentSize: 10, dagSize: 20, blocks: 1, charge: 512, fileCount: 0 }
export const DAG = dagOf('a')
/** A search that finds everything. */
export const ANY_SEARCH: RecordSearch = {
  ...{ names: [], meta: {}, types: [], statuses: [], visibility: null, multihashes: [], before: null, after: null },
  oldestFirst: false,
}
export const everywhere = { clusterId: null, now: NOW, limit: 100 }

export function dagOf(name: string) {
  return { codec: 0x55, multihash: new Uint8Array(Buffer.concat([Buffer.from([0x12, 0x20]), Buffer.alloc(32, name)])) }
}

export function record(id: string, more: Partial<NewRecord> & { dag?: typeof DAG } = {}): NewRecord {
  const { dag = DAG, ...fields } = more
  return {
    ...{ id, accountId: 'one', clusterId: 'near', cid: 'cid', ...dag, type: 'file', status: 'pinned', statusAt: NOW },
    ...{ statusCode: null, statusReason: null, name: id, originalName: null, customName: null, meta: null, size: 10 },
    ...{ owner: 0, expiresAt: null, createdAt: NOW, ...fields },
  }
}

export async function commit(
  { records, stage }: ContentCatalogue,
  made: NewRecord[],
  more: Partial<PinLimits & { backendId: number; isAnew: boolean }> = {},
) {
  const { backendId = 0, isAnew = false, ...limits } = more
  const intents: CommitIntent[] = []
  for (const one of made) {
    const { codec, multihash } = one
    const dag = { codec, multihash, ...SIZES, owner: one.owner }
    const stagedRootId = await stage(backendId)
    const intent = { record: one, backendId, limits: { ...NO_LIMITS, ...limits }, now: NOW }
    intents.push({ kind: 'whole', ...intent, stagedRootId, dag, isAnew })
  }
  return records.commit(intents)
}

export function request({ fetches }: ContentCatalogue, made: NewRecord, limits: PinLimits = NO_LIMITS) {
  return fetches.request({
    record: { ...made, status: 'queued' },
    owner: 0,
    backendId: 0,
    origins: [],
    limits,
    now: NOW,
  })
}

export function deliver({ fetches }: ContentCatalogue, fetchId: number) {
  return fetches.deliver(fetchId, new Map(ACCOUNTS.map(id => [id, NO_LIMITS])), NOW)
}

export function listOf(accountId: string) {
  return { accountId, multihash: null, hasExpiration: false, now: NOW }
}

export function ids(rows: readonly Pick<RecordRow, 'id'>[]): string[] {
  return rows.map(({ id }) => id)
}

/** Copies a value into plain objects and arrays, because databases return buffers and rows of their own classes. */
export function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return new Uint8Array(value)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]))
}

export function isCode(code: string): (error: unknown) => boolean {
  return error => (error as HoldfastError).code === code
}
