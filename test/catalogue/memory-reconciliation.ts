import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import type {
  Files,
  ListedFile,
  Reconciliation,
  RecordProblem,
  RecordRow,
  StatusChange,
} from '../../src/catalogue/index.ts'
import { fetchHold, hex, keyOf, type MemoryContent } from './memory-content.ts'

/** Number of the backend that every node has. */
const OWN_BACKEND = 0
const RECORD_ID = /^[0-9a-z]{9}[\w-]{12}$/

/** Returns whether a backend is a directory of this node, whatever cluster is on it. */
function isLocal(homes: ReadonlyMap<string, number>, backendId: number | null): boolean {
  return backendId === OWN_BACKEND || [...homes.values()].some(home => home === backendId)
}

export function memoryReconciliation(all: MemoryContent): Reconciliation {
  const isUnwanted = (hold: string): boolean => {
    if (RECORD_ID.test(hold)) return !all.rows.has(hold)
    return hold.startsWith('fetch ') && ![...all.waiting.keys()].some(id => fetchHold(id) === hold)
  }
  /** Returns the root on the backend that has it, or else on the cluster's backend. */
  const wholeOf = (backendId: number, record: RecordRow) =>
    (record.rootId === null ? undefined : all.roots.get(record.rootId)) ?? all.rootOf(backendId, record)
  const problemOf = (record: RecordRow, backendId: number): RecordProblem | null => {
    const root = wholeOf(backendId, record)
    const isHeld = root !== undefined && all.holds.get(record.id) === root.id
    if (record.status === 'pinned') return root === undefined ? 'record-lost' : isHeld ? null : 'record-unheld'
    if (record.rootId !== null) return isHeld ? null : 'record-lost'
    if (isHeld) return 'record-whole'
    const isFetched = record.fetchId !== null && all.waiting.has(record.fetchId)
    return ['queued', 'pinning'].includes(record.status) && !isFetched ? 'record-unfetched' : null
  }
  /** Sets a record to wait for its content. */
  const wait = (record: RecordRow, backendId: number, text: string, now: number): StatusChange => {
    const wanted = { backendId, record, owner: 0, origins: [], now }
    const fetch = all.fetchOf(backendId, record, 0) ?? all.addFetch(wanted, ++all.made)
    const row = { ...record, rootId: null, dagSize: 0, charge: 0, fetchId: fetch.id }
    if (record.status === 'pinned') return all.change(row, 'pinning', now, { code: null, text })
    return { record: all.write({ ...row, status: 'pinning' }), from: record.status }
  }
  const mend = (record: RecordRow, kind: RecordProblem, backendId: number, now: number): StatusChange[] => {
    const root = wholeOf(backendId, record)
    if (kind === 'record-lost') all.release(record.id)
    if (kind === 'record-lost' || kind === 'record-unfetched') return [wait(record, backendId, 'fetched again', now)]
    if (root === undefined) return []
    if (kind === 'record-whole') return [{ record: all.fulfil(record, root, now), from: record.status }]
    all.holds.set(record.id, root.id)
    return []
  }
  return {
    async holds(step) {
      const found = [...all.holds.keys()].toSorted().filter(id => id > step.after)
      const seen = found.slice(0, step.limit)
      const unwanted = seen.filter(isUnwanted)
      if (step.mend) for (const id of unwanted) all.release(id)
      return { unwanted, seen: seen.length, last: seen.at(-1) ?? null }
    },
    async roots(step) {
      const found = [...all.roots.values()].toSorted((a, b) => a.id - b.id).filter(({ id }) => id > step.after)
      const seen = found.slice(0, step.limit)
      const held = new Set(all.holds.values())
      const unwanted = seen.filter(({ id }) => !held.has(id))
      if (step.mend) for (const { id } of unwanted) all.drop(id)
      const cids = unwanted.map(({ codec, multihash }) => CID.createV1(codec, Digest.decode(multihash)).toString())
      return { unwanted: cids, seen: seen.length, last: seen.at(-1)?.id ?? null }
    },
    async records(step) {
      const found = [...all.rows.values()]
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
        .filter(({ id }) => id > step.after)
      const seen = found.slice(0, step.limit)
      const changes: StatusChange[] = []
      const findings = seen.flatMap(record => {
        const root = record.rootId === null ? undefined : all.roots.get(record.rootId)
        const own = isLocal(step.homes, root?.backendId ?? null) ? root?.backendId : undefined
        const home = step.homes.get(record.clusterId) ?? own
        const kind = home === undefined ? null : problemOf(record, home)
        if (home === undefined || kind === null) return []
        if (step.mend) changes.push(...mend(record, kind, home, step.now))
        return [{ kind, record: record.id, cid: record.cid }]
      })
      return { findings, changes, seen: seen.length, last: seen.at(-1)?.id ?? null }
    },
    async accounts({ after, limit }) {
      const ids = new Set([...all.rows.values()].map(row => row.accountId))
      return [...ids]
        .toSorted()
        .filter(id => id > after)
        .slice(0, limit)
    },
    // Usage is not stored but counted on each call, so it is never wrong.
    recount: async ({ accountId }) => {
      const counted = all.usage(accountId, 0)
      return { noted: counted, counted }
    },
    async fetches({ after, limit }) {
      const seen = [...all.waiting.keys()].filter(id => id > after).slice(0, limit)
      return {
        unwanted: seen.filter(id => all.waitersOf(id).length === 0),
        seen: seen.length,
        last: seen.at(-1) ?? null,
      }
    },
    requeue: async ({ backendId, dag, homes, reason, now }) =>
      [...all.rows.values()]
        .filter(row => row.rootId !== null && keyOf(row) === keyOf(dag))
        .filter(row => isLocal(homes, backendId) || homes.has(row.clusterId))
        .map(row => wait(row, backendId, reason, now)),
  }
}

/** @param listed the files below each root, by the id of the root */
export function memoryFiles(all: MemoryContent, listed: ReadonlyMap<number, readonly ListedFile[]>): Files {
  const filesOf = (rootId: number): readonly ListedFile[] => listed.get(rootId) ?? []
  return {
    async content(rootId) {
      const root = all.roots.get(rootId)
      return root && { blocks: root.blocks, dagSize: root.dagSize, fileCount: root.fileCount, announcedAt: null }
    },
    page: async (rootId, offset, limit) => filesOf(rootId).slice(offset, offset + limit),
    async pageOf(rootId, multihash, offset, limit) {
      const files = filesOf(rootId).filter(file => hex(file.multihash) === hex(multihash))
      return { files: files.slice(offset, offset + limit), total: files.length }
    },
  }
}
