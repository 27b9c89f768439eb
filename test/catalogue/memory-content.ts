import {
  type CommitIntent,
  type Committed,
  checkTransition,
  type DagIdentity,
  type Fetches,
  type FetchRequest,
  type FetchRow,
  type NameMatch,
  type NewRecord,
  OVER_QUOTA,
  type PinLimits,
  type PinStatus,
  type PlacementRow,
  type RecordFilter,
  type RecordRow,
  type RecordSearch,
  type Records,
  type StatusChange,
  type StatusReason,
  type WholeDag,
} from '../../src/catalogue/index.ts'
import { HoldfastError } from '../../src/index.ts'
import type { GoesAlong } from './memory-access.ts'

/** A complete root of the ledger, reduced to the fields that a catalogue needs. */
export type Root = WholeDag & { id: number; backendId: number }

/** Rows of a feature that follow the changes of records. */
export interface RecordFollower extends GoesAlong {
  /** Notes a change of a record. `from` is the former status. */
  note(event: RecordEvent, row: RecordRow, change: { from: string | null; at: number | null }): void
  /** Returns a function that undoes everything after this call. */
  save(): () => void
}

export type RecordEvent = 'pin:created' | 'pin:status' | 'pin:removed'

/** Records, fetches and holds in memory, as lists that each query scans. */
export class MemoryContent {
  rows = new Map<string, RecordRow>()
  waiting = new Map<number, FetchRow & { isRunning: boolean }>()
  roots = new Map<number, Root>()
  /** Root ids by hold id. */
  holds = new Map<string, number>()
  placements = new Map<number, PlacementRow>()
  /** When each placement became wanted or was found lost. */
  readonly waitingSince = new Map<number, number>()
  readonly followers: RecordFollower[] = []
  made = 0
  /** Bytes that accounts have released while deletion was stopped; null while it is not. */
  released: Map<string, number> | null = null
  /** Returns the removed records in their undo periods. */
  removed: () => RecordRow[] = () => []
  /** The numbers of external backends, which need placements. */
  readonly external: ReadonlySet<number>

  constructor(external: ReadonlySet<number>) {
    this.external = external
  }

  live(now: number, isWanted: (row: RecordRow) => boolean): RecordRow[] {
    return this.newest([...this.rows.values()].filter(row => isLive(row, now) && isWanted(row)))
  }

  newest(rows: RecordRow[]): RecordRow[] {
    return rows.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
  }

  usage(accountId: string, now: number) {
    const own = [...this.rows.values()].filter(row => row.accountId === accountId)
    const live = own.filter(row => isLive(row, now))
    const charges = new Map(own.filter(row => row.rootId !== null).map(row => [keyOf(row), row.charge]))
    const storedBytes = [...charges.values()].reduce((sum, charge) => sum + charge, 0)
    return { pins: live.length, expiringPins: live.filter(row => row.expiresAt !== null).length, storedBytes }
  }

  has(accountId: string, dag: DagIdentity): boolean {
    const isHere = (row: RecordRow) => row.accountId === accountId && row.rootId !== null && keyOf(row) === keyOf(dag)
    return [...this.rows.values()].some(isHere)
  }

  fits(accountId: string, dag: WholeDag, { maxStorageBytes }: PinLimits, now: number): boolean {
    if (maxStorageBytes === null || this.has(accountId, dag)) return true
    return this.usage(accountId, now).storedBytes + dag.charge <= maxStorageBytes
  }

  checkCount({ accountId }: NewRecord, { maxPins }: PinLimits, now: number): void {
    if (maxPins !== null && this.usage(accountId, now).pins >= maxPins)
      throw new HoldfastError('QUOTA_EXCEEDED', 'pins')
  }

  identical(record: NewRecord, now: number): RecordRow | undefined {
    const told = ({
      accountId,
      clusterId,
      expiresAt,
      name,
      originalName,
      customName,
      meta,
      owner,
      ...dag
    }: NewRecord): string =>
      JSON.stringify([accountId, clusterId, expiresAt, name, originalName, customName, meta, owner, keyOf(dag)])
    const wanted = told(record)
    return this.live(now, row => row.accountId === record.accountId && told(row) === wanted)[0]
  }

  /** @param owner any owner unless given */
  rootOf(backendId: number, dag: DagIdentity, owner?: number): Root | undefined {
    return [...this.roots.values()].find(
      root =>
        root.backendId === backendId && keyOf(root) === keyOf(dag) && (root.owner === owner || owner === undefined),
    )
  }

  /** Moves the content of a record to a root of an owner. */
  give(row: RecordRow, owner: number): RecordRow {
    const root = this.roots.get(row.rootId ?? 0)
    if (root === undefined) return row
    const { id } = this.completed(root.backendId, ++this.made, { ...root, owner })
    this.release(row.id)
    this.holds.set(row.id, id)
    return this.write({ ...row, owner, rootId: id })
  }

  completed(backendId: number, stagedRootId: number | null, dag: WholeDag): Root {
    const known = this.rootOf(backendId, dag, dag.owner)
    if (known !== undefined) return known
    if (stagedRootId === null) throw new HoldfastError('CID_NOT_FOUND', 'this node no longer has the content')
    const root = { ...dag, id: stagedRootId, backendId }
    this.roots.set(root.id, root)
    return root
  }

  write(row: RecordRow): RecordRow {
    const before = this.rows.get(row.id)
    this.rows.set(row.id, row)
    if (before === undefined) this.note('pin:created', row, { from: null, at: row.createdAt })
    else if (before.status !== row.status) this.note('pin:status', row, { from: before.status, at: row.statusAt })
    return { ...row }
  }

  note(...change: Parameters<RecordFollower['note']>): void {
    for (const follower of this.followers) follower.note(...change)
  }

  fulfil(row: RecordRow, root: Root, now: number): RecordRow {
    const { contentSize: size, dagSize, charge } = root
    const status = this.statusIn(root.backendId, row, now)
    const told = { status, statusAt: now, statusCode: null, statusReason: null }
    this.holds.set(row.id, root.id)
    return this.write({ ...row, ...told, rootId: root.id, fetchId: null, size, dagSize, charge })
  }

  change(row: RecordRow, to: PinStatus, now: number, reason: StatusReason | null): StatusChange {
    checkTransition(row.status, to)
    const told = { statusCode: reason?.code ?? null, statusReason: reason?.text ?? null }
    return { record: this.write({ ...row, status: to, statusAt: now, ...told }), from: row.status }
  }

  changeAll(fetchId: number, from: PinStatus, to: PinStatus, now: number, reason: StatusReason | null) {
    return this.waitersOf(fetchId)
      .filter(row => row.status === from)
      .map(row => this.change(row, to, now, reason))
  }

  waitersOf(fetchId: number): RecordRow[] {
    return [...this.rows.values()].filter(row => row.fetchId === fetchId)
  }

  dropIfUnneeded(fetchId: number): boolean {
    if (this.waitersOf(fetchId).length > 0) return false
    const fetch = this.waiting.get(fetchId)
    this.waiting.delete(fetchId)
    this.release(fetchHold(fetchId))
    if (fetch !== undefined) this.withdraw(fetch.backendId, fetch)
    return true
  }

  /** Releases the hold of a record that is gone for good. */
  free(row: RecordRow): void {
    const isNamed = this.has(row.accountId, row) || this.removed().some(other => isSame(other, row))
    if (row.rootId !== null && !isNamed)
      this.released?.set(row.accountId, (this.released.get(row.accountId) ?? 0) + row.charge)
    this.release(row.id)
  }

  /** Releases a hold, and drops its root with the last hold. */
  release(hold: string): void {
    const rootId = this.holds.get(hold)
    this.holds.delete(hold)
    if (rootId !== undefined && ![...this.holds.values()].includes(rootId)) this.drop(rootId)
  }

  drop(rootId: number): void {
    const root = this.roots.get(rootId)
    this.roots.delete(rootId)
    const row = root && this.placementOf(root.backendId, root)
    if (row?.isWanted !== true) return
    const generation = row.generation + 1
    this.placements.set(row.id, { ...row, isWanted: false, isPlaced: false, generation, attempts: 0, dueAt: 0 })
  }

  withdraw(backendId: number, dag: DagIdentity): void {
    const row = this.placementOf(backendId, dag)
    if (row?.isWanted !== true || this.rootOf(backendId, dag) !== undefined) return
    const generation = row.generation + 1
    this.placements.set(row.id, { ...row, isWanted: false, isPlaced: false, generation, attempts: 0, dueAt: 0 })
  }

  placementOf(backendId: number, dag: DagIdentity): PlacementRow | undefined {
    return [...this.placements.values()].find(row => row.backendId === backendId && keyOf(row) === keyOf(dag))
  }

  /** Marks a DAG as wanted on an external backend. Returns `pinned` if the backend has it. */
  statusIn(backendId: number, { codec, multihash, accountId }: NewRecord, now: number): 'pinned' | 'pinning' {
    if (!this.external.has(backendId)) return 'pinned'
    const known = this.placementOf(backendId, { codec, multihash })
    const anew = { accountId, isWanted: true, isPlaced: false, isAnew: false, attempts: 0, lastError: null }
    if (known === undefined) {
      const id = ++this.made
      const row = { ...{ id, backendId, codec, multihash, generation: 1, dueAt: now, unpinUntil: 0 }, ...anew }
      this.placements.set(id, row)
      this.waitingSince.set(id, now)
    } else if (!known.isWanted || (!known.isPlaced && known.dueAt === null)) {
      const dueAt = Math.max(now, known.unpinUntil)
      this.placements.set(known.id, { ...known, ...anew, generation: known.generation + 1, dueAt })
      this.waitingSince.set(known.id, now)
    }
    return known?.isPlaced === true ? 'pinned' : 'pinning'
  }

  commit(intent: CommitIntent): Committed {
    const { record, backendId, limits, now } = intent
    const existing = intent.kind === 'whole' && intent.isAnew === true ? undefined : this.identical(record, now)
    if (intent.kind === 'partial') {
      if (existing !== undefined || this.fetchOf(backendId, record, intent.owner) !== undefined) {
        throw new HoldfastError('CONFLICT', 'there in part, or being fetched, already')
      }
      this.checkCount(record, limits, now)
      const fetch = this.addFetch({ ...intent, origins: [] }, intent.stagedRootId)
      Object.assign(fetch, intent.brought)
      const row = { ...record, rootId: null, dagSize: 0, charge: 0, fetchId: fetch.id }
      return { record: this.write(row), created: true, waited: null }
    }
    if (existing !== undefined && existing.rootId !== null) return { record: existing, created: false, waited: null }
    if (existing === undefined) this.checkCount(record, limits, now)
    if (!this.fits(record.accountId, intent.dag, limits, now)) throw new HoldfastError('QUOTA_EXCEEDED', 'storage')
    const root = this.completed(backendId, intent.stagedRootId, intent.dag)
    if (existing !== undefined) return { record: this.fulfil(existing, root, now), created: false, waited: existing }
    const { dagSize, charge } = root
    const status = this.statusIn(backendId, record, now)
    const row = { ...record, status, rootId: root.id, dagSize, charge, fetchId: null }
    this.holds.set(record.id, root.id)
    return { record: this.write(row), created: true, waited: null }
  }

  fetchOf(backendId: number, dag: DagIdentity, owner: number) {
    const isSame = (fetch: FetchRow) =>
      fetch.backendId === backendId && fetch.owner === owner && keyOf(fetch) === keyOf(dag)
    return [...this.waiting.values()].find(isSame)
  }

  addFetch(
    { backendId, record, owner, possessor = owner, origins, now }: Omit<FetchRequest, 'limits'>,
    rootId: number,
  ) {
    const { accountId, codec, multihash } = record
    const fetch = {
      ...{ id: ++this.made, accountId, backendId, codec, multihash, owner, possessor, rootId, origins: [...origins] },
      ...{ attempts: 0, nextAttemptAt: now, lastError: null, isWhole: false, isRunning: false },
      ...{ blocks: 0, bytes: 0, charge: 0 },
    }
    this.waiting.set(fetch.id, fetch)
    this.holds.set(fetchHold(fetch.id), rootId)
    return fetch
  }
}

function isSame(one: RecordRow, other: RecordRow): boolean {
  return one.accountId === other.accountId && one.rootId !== null && keyOf(one) === keyOf(other)
}

export function memoryRecords(all: MemoryContent, takeUse: (token: string) => void = () => {}): Records {
  const wantedOf = (filter: RecordFilter): RecordRow[] => {
    const rows = all.live(filter.now, row => isWanted(row, filter))
    return filter.search?.oldestFirst === true ? rows.toReversed() : rows
  }
  const taken = (rows: RecordRow[]): RecordRow[] => {
    for (const row of rows) {
      all.rows.delete(row.id)
      all.free(row)
      all.note('pin:removed', row, { from: null, at: null })
    }
    return rows
  }
  const ofDag: Records['ofDag'] = async ({ accountId, dag, clusterId, now, limit }) =>
    all
      .live(now, row => row.accountId === accountId && keyOf(row) === keyOf(dag))
      .filter(row => clusterId === null || row.clusterId === clusterId)
      .slice(0, limit)
  return {
    ofDag,
    async commit(intents, token) {
      const { rows, waiting, roots, holds, placements } = all
      const before = { rows: new Map(rows), waiting: new Map(waiting), roots: new Map(roots) }
      const beside = { holds: new Map(holds), placements: new Map(placements) }
      const undos = all.followers.map(follower => follower.save())
      try {
        const made = intents.map(intent => all.commit(intent))
        if (token !== undefined) takeUse(token)
        return made
      } catch (error) {
        for (const undo of undos) undo()
        throw Object.assign(all, before, beside) && error
      }
    },
    remove: async request => taken(await ofDag({ ...request, limit: Number.POSITIVE_INFINITY })),
    discard: async id => taken([...all.rows.values()].filter(row => row.id === id)).length > 0,
    discardAll: async ids => taken([...all.rows.values()].filter(row => ids.includes(row.id))),
    expire: async (now, limit) =>
      taken(
        [...all.rows.values()]
          .filter(row => !isLive(row, now))
          .toSorted((a, b) => (a.expiresAt ?? 0) - (b.expiresAt ?? 0))
          .slice(0, limit),
      ),
    finishRemovals: async () => undefined,
    async rename({ accountId, id, name, meta, now }) {
      const row = all.rows.get(id)
      if (row === undefined || row.accountId !== accountId || !isLive(row, now)) return false
      const called = name === undefined ? {} : { name, customName: name }
      all.write({ ...row, ...called, meta: meta === undefined ? row.meta : meta })
      return true
    },
    async setOwner({ accountId, id, owner, now }) {
      const row = all.rows.get(id)
      if (row === undefined || row.accountId !== accountId || !isLive(row, now)) return null
      if (row.owner === owner) return row
      if (row.rootId === null) throw new HoldfastError('CONFLICT', 'awaited')
      return all.give(row, owner)
    },
    get: async id => all.rows.get(id),
    newestOf: async ({ hasExpiration, ...query }) =>
      (await ofDag({ ...query, clusterId: null, limit: Number.POSITIVE_INFINITY })).find(
        row => !hasExpiration || row.expiresAt !== null,
      ),
    usage: async (accountId, now) => all.usage(accountId, now),
    async page(filter, offset, limit) {
      const rows = wantedOf(filter)
      return { rows: rows.slice(offset, offset + limit), total: rows.length }
    },
    async walk(filter, { after, limit }) {
      const wanted = wantedOf(filter)
      const [createdAt, id = ''] = after?.split(' ') ?? []
      const isOlder = (row: RecordRow) =>
        row.createdAt < Number(createdAt) || (row.createdAt === Number(createdAt) && row.id < id)
      const isNewestFirst = filter.search?.oldestFirst !== true
      const isLeft = (row: RecordRow) => row.id !== id && isOlder(row) === isNewestFirst
      const left = after === null ? wanted : wanted.filter(isLeft)
      const last = left[limit - 1]
      return { rows: left.slice(0, limit), next: last && left.length > limit ? `${last.createdAt} ${last.id}` : null }
    },
    async nextExpiry() {
      const ends = [...all.rows.values()].flatMap(({ expiresAt }) => expiresAt ?? [])
      return ends.length === 0 ? null : Math.min(...ends)
    },
  }
}

function isWanted(row: RecordRow, { accountId, multihash, hasExpiration, search }: RecordFilter): boolean {
  const isContent = multihash === null || hex(row.multihash) === hex(multihash)
  const isAsked = row.accountId === accountId && isContent && (!hasExpiration || row.expiresAt !== null)
  return isAsked && (search === undefined || isFound(row, search))
}

function isFound(
  row: RecordRow,
  { names, meta, types, statuses, visibility, multihashes, before, after }: RecordSearch,
): boolean {
  const told: Record<string, string> = row.meta === null ? {} : JSON.parse(row.meta)
  return (
    names.every(({ text, match }) => isCalled(row.name, text, match)) &&
    Object.entries(meta).every(([key, value]) => Object.hasOwn(told, key) && told[key] === value) &&
    (types.length === 0 || types.includes(row.type)) &&
    (statuses.length === 0 || statuses.includes(row.status)) &&
    (visibility === null || (visibility !== 'disputed' && (visibility === 'public') === (row.owner === 0))) &&
    (multihashes.length === 0 || multihashes.some(content => hex(content) === hex(row.multihash))) &&
    (before === null || row.createdAt < before) &&
    (after === null || row.createdAt > after)
  )
}

function isCalled(name: string | null, text: string, match: NameMatch): boolean {
  if (name === null) return false
  const [called, asked] = match.startsWith('i') ? [name.toLowerCase(), text.toLowerCase()] : [name, text]
  return match.endsWith('exact') ? called === asked : called.includes(asked)
}

export function memoryFetches(all: MemoryContent): Fetches {
  const told = (fetch: FetchRow | undefined): FetchRow | undefined => (fetch === undefined ? undefined : { ...fetch })
  return {
    async request(request) {
      const { record, backendId, owner, possessor = owner, origins, limits, now, isAnew = false } = request
      const existing = isAnew ? undefined : all.identical(record, now)
      if (existing !== undefined && existing.status !== 'failed') {
        return { record: existing, created: false, fetchId: existing.fetchId, changes: [] }
      }
      if (existing === undefined) all.checkCount(record, limits, now)
      const unfinished = [...all.rows.values()].filter(
        row => row.accountId === record.accountId && ['queued', 'pinning'].includes(row.status),
      )
      if (limits.maxQueuedPins !== null && unfinished.length >= limits.maxQueuedPins) {
        throw new HoldfastError('QUOTA_EXCEEDED', 'pins that wait')
      }
      const known = all.fetchOf(backendId, record, owner)
      const fetch = known ?? all.addFetch(request, ++all.made)
      if (possessor !== 0) fetch.possessor = possessor
      const isQueued = all.waitersOf(fetch.id).some(row => row.status === 'queued')
      if (known !== undefined && !known.isRunning && !isQueued) {
        Object.assign(known, {
          nextAttemptAt: now,
          attempts: 0,
          origins: [...new Set([...origins, ...known.origins])].slice(0, 20),
        })
      }
      const changes: StatusChange[] = []
      if (existing === undefined) all.write({ ...record, rootId: null, dagSize: 0, charge: 0, fetchId: fetch.id })
      else changes.push(all.change({ ...existing, fetchId: fetch.id }, 'queued', now, null))
      const made = all.rows.get(existing?.id ?? record.id) as RecordRow
      if (fetch.isRunning) changes.push(all.change(made, 'pinning', now, null))
      return { record: made, created: existing === undefined, fetchId: fetch.id, changes }
    },
    async start(id, now) {
      const fetch = all.waiting.get(id)
      if (fetch === undefined || all.dropIfUnneeded(id)) return undefined
      Object.assign(fetch, { attempts: fetch.attempts + 1, nextAttemptAt: null, isRunning: true })
      const again = all.changeAll(id, 'failed', 'queued', now, { code: null, text: 'retried' })
      return { fetch: { ...fetch }, changes: [...again, ...all.changeAll(id, 'queued', 'pinning', now, null)] }
    },
    async fail(id, { reason, retryAt, blocks, bytes, charge }, now) {
      const fetch = all.waiting.get(id)
      if (fetch === undefined || all.dropIfUnneeded(id)) return []
      const brought = { blocks, bytes, charge }
      Object.assign(fetch, { ...brought, lastError: reason.text, nextAttemptAt: retryAt, isRunning: false })
      return [
        ...all.changeAll(id, 'queued', 'failed', now, reason),
        ...all.changeAll(id, 'pinning', 'failed', now, reason),
      ]
    },
    async refuse(ids, reason, now) {
      return ids.flatMap(id => {
        const row = all.rows.get(id)
        return row === undefined || row.fetchId === null
          ? []
          : [all.change({ ...row, fetchId: null }, 'failed', now, reason)]
      })
    },
    async complete(id, dag) {
      const fetch = all.waiting.get(id)
      if (fetch === undefined || fetch.isWhole) return
      const root = all.completed(fetch.backendId, fetch.rootId, dag)
      Object.assign(fetch, { rootId: root.id, isWhole: true })
      all.holds.set(fetchHold(id), root.id)
    },
    async deliver(id, limits, now) {
      const fetch = all.waiting.get(id)
      const root = fetch === undefined ? undefined : all.roots.get(fetch.rootId)
      if (root === undefined) return { changes: [], isDone: true }
      const changes = all.waitersOf(id).flatMap(row => {
        const limit = limits.get(row.accountId)
        if (limit === undefined) return []
        if (!all.fits(row.accountId, root, limit, now)) {
          return [all.change({ ...row, fetchId: null }, 'failed', now, OVER_QUOTA)]
        }
        return [{ record: all.fulfil(row, root, now), from: row.status }]
      })
      return { changes, isDone: all.dropIfUnneeded(id) }
    },
    async dropOrRepeat(id, now) {
      const fetch = all.waiting.get(id)
      if (fetch !== undefined && !all.dropIfUnneeded(id)) Object.assign(fetch, { nextAttemptAt: now, isRunning: false })
    },
    dropIfUnneeded: async id => all.dropIfUnneeded(id),
    async resume(now) {
      const running = [...all.waiting.values()].filter(fetch => fetch.isRunning)
      for (const fetch of running) Object.assign(fetch, { nextAttemptAt: now, isRunning: false })
      const restarted = { code: null, text: 'the node was restarted' }
      return running.flatMap(({ id }) => all.changeAll(id, 'pinning', 'queued', now, restarted))
    },
    get: async id => told(all.waiting.get(id)),
    find: async (backendId, dag, owner) => told(all.fetchOf(backendId, dag, owner)),
    isWanted: async id => all.waitersOf(id).length > 0,
    waitingAccounts: async id => [...new Set(all.waitersOf(id).map(({ accountId }) => accountId))],
    waitersOf: async (id, accountId) => all.waitersOf(id).flatMap(row => (row.accountId === accountId ? row.id : [])),
    heldFor: async accountId =>
      [...all.waiting.values()]
        .filter(({ id }) => all.waitersOf(id).some(row => row.accountId === accountId))
        .map(({ id, charge }) => ({ id, charge })),
    async due({ now, after, accounts, each }) {
      const scheduled = [...all.waiting.values()].filter(fetch => fetch.nextAttemptAt !== null)
      const names = [...new Set(scheduled.map(({ accountId }) => accountId))].filter(name => name > after).sort()
      const asked = names.slice(0, accounts)
      const dueOf = (name: string) =>
        scheduled
          .filter(({ accountId, nextAttemptAt }) => accountId === name && (nextAttemptAt ?? now + 1) <= now)
          .toSorted((a, b) => (a.nextAttemptAt ?? 0) - (b.nextAttemptAt ?? 0))
          .slice(0, each)
      return { jobs: asked.flatMap(dueOf), last: asked.length < accounts ? null : (asked.at(-1) ?? null) }
    },
    async nextDue() {
      const times = [...all.waiting.values()].flatMap(({ nextAttemptAt }) => nextAttemptAt ?? [])
      return times.length === 0 ? null : Math.min(...times)
    },
  }
}

/** Returns the id of the hold that keeps the blocks of a fetch. */
export function fetchHold(fetchId: number): string {
  return `fetch ${fetchId}`
}

function isLive({ expiresAt }: NewRecord, now: number): boolean {
  return expiresAt === null || expiresAt > now
}

export function keyOf({ codec, multihash }: DagIdentity): string {
  return `${codec} ${hex(multihash)}`
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
