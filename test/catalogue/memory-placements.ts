import { NOBODY, type PlacementKey, type PlacementRow, type Placements } from '../../src/catalogue/index.ts'
import type { MemoryContent } from './memory-content.ts'

/** Maximum number of records that one step changes. */
const STEP = 50

export function memoryPlacements(all: MemoryContent): Placements {
  const current = ({ id, generation }: PlacementKey): PlacementRow | undefined => {
    const row = all.placements.get(id)
    return row?.generation === generation ? row : undefined
  }
  const write = (row: PlacementRow, changes: Partial<PlacementRow>): PlacementRow => {
    const written = { ...row, ...changes }
    all.placements.set(row.id, written)
    return written
  }
  const open = (backendId: number): Array<PlacementRow & { dueAt: number }> =>
    [...all.placements.values()].flatMap(row =>
      row.backendId === backendId && row.dueAt !== null ? { ...row, dueAt: row.dueAt } : [],
    )
  return {
    find: async (backendId, dag) => all.placementOf(backendId, dag),
    async ofRoot(rootId) {
      const root = all.roots.get(rootId)
      return root && all.placementOf(root.backendId, root)
    },
    async entrust(backendId, { codec, multihash }, { accountId, now }) {
      const known = all.placementOf(backendId, { codec, multihash })
      if (known?.isWanted === true) return known
      const anew = {
        accountId,
        isWanted: true,
        isPlaced: false,
        isAnew: false,
        attempts: 0,
        lastError: null,
        dueAt: null,
      }
      const first = { id: known?.id ?? ++all.made, backendId, codec, multihash, generation: 0, unpinUntil: 0 }
      const row = known ?? { ...first, ...anew }
      all.waitingSince.set(row.id, now)
      return write(row, { ...anew, generation: row.generation + 1 })
    },
    withdraw: async (backendId, dag) => all.withdraw(backendId, dag),
    async due({ backendId, now, after, accounts, each }) {
      const rows = open(backendId).toSorted((a, b) => a.dueAt - b.dueAt)
      const names = [...new Set(rows.map(({ accountId }) => accountId))].filter(name => name > after).sort()
      const asked = names.slice(0, accounts)
      const dueOf = (name: string): PlacementRow[] =>
        rows.filter(({ accountId, dueAt }) => accountId === name && dueAt <= now).slice(0, each)
      return { jobs: asked.flatMap(dueOf), last: asked.length < accounts ? null : (asked.at(-1) ?? null) }
    },
    nextDue: async backendId =>
      open(backendId).reduce<number | null>((at, { dueAt }) => Math.min(at ?? dueAt, dueAt), null),
    async begin(key) {
      const row = current(key)
      return row && write(row, { attempts: row.attempts + 1 })
    },
    async beginUnpin(key, until) {
      const row = current(key)
      if (row === undefined || row.isWanted) return false
      write(row, { unpinUntil: until })
      return true
    },
    async placed(key, now) {
      const row = current(key)
      const root = row?.isWanted === true ? all.rootOf(row.backendId, row) : undefined
      if (row === undefined || root === undefined) return { changes: [], isDone: true }
      write(row, { isPlaced: true, isAnew: false, dueAt: null, lastError: null })
      const waiting = [...all.rows.values()].filter(({ rootId, status }) => rootId === root.id && status === 'pinning')
      const changes = waiting.slice(0, STEP).map(record => all.change(record, 'pinned', now, null))
      return { changes, isDone: waiting.length < STEP }
    },
    async released(key, { now, until }) {
      const row = all.placements.get(key.id)
      if (row === undefined) return
      if (!row.isWanted && row.generation === key.generation && until <= now) all.placements.delete(row.id)
      else if (!row.isPlaced && row.dueAt !== null)
        write(row, { unpinUntil: until > now ? until : 0, dueAt: Math.max(now, until) })
    },
    async retry(key, { at, reason }) {
      const row = current(key)
      if (row !== undefined) write(row, { dueAt: at, lastError: reason })
    },
    after: async (id, limit) =>
      [...all.placements.values()]
        .filter(row => row.id > id)
        .sort((a, b) => a.id - b.id)
        .slice(0, limit),
    async lost(key, { now, reason }) {
      const row = current(key)
      const root = row?.isPlaced === true ? all.rootOf(row.backendId, row) : undefined
      if (row === undefined || root === undefined) return []
      const generation = row.generation + 1
      write(row, { isPlaced: false, isAnew: true, generation, attempts: 0, dueAt: now, lastError: reason })
      all.waitingSince.set(row.id, now)
      const pinned = [...all.rows.values()].filter(({ rootId, status }) => rootId === root.id && status === 'pinned')
      return pinned.map(record => all.change(record, 'pinning', now, { code: null, text: reason }))
    },
    async disown(backendId, { codec, multihash }, now) {
      if (all.placementOf(backendId, { codec, multihash }) !== undefined) return false
      const id = ++all.made
      const told = { isWanted: false, isPlaced: false, isAnew: false, attempts: 0, lastError: null, unpinUntil: 0 }
      all.placements.set(id, {
        ...{ id, backendId, codec, multihash, accountId: NOBODY, generation: 1, dueAt: now },
        ...told,
      })
      return true
    },
    async lag(backendId) {
      const rows = [...all.placements.values()].filter(row => row.backendId === backendId)
      const waiting = rows.filter(({ isWanted, isPlaced }) => isWanted && !isPlaced)
      const since = waiting.map(({ id }) => all.waitingSince.get(id) ?? 0).sort((a, b) => a - b)[0] ?? null
      return { pins: waiting.length, unpins: rows.filter(({ isWanted }) => !isWanted).length, since }
    },
  }
}
