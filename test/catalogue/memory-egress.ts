import { type AccountStore, type EgressRow, type EgressStore, OWNERS_COMPARED } from '../../src/catalogue/index.ts'
import type { MemoryContent } from './memory-content.ts'

/** Creates a store of traffic in memory, beside records whose holds have the ids of the records. */
export function memoryEgress(all: MemoryContent, accounts: Pick<AccountStore, 'get'>): EgressStore {
  const rows: Array<EgressRow & { month: number }> = []
  const ownerOf = (holdId: string, now: number): string | undefined => {
    const rootId = all.rows.get(holdId)?.rootId
    const live = all.live(now, row => row.rootId !== null && row.rootId === rootId)
    const last = live.toSorted((a, b) => (b.expiresAt ?? Infinity) - (a.expiresAt ?? Infinity) || 0)
    return all.newest(last.slice(0, OWNERS_COMPARED)).at(-1)?.accountId
  }
  return {
    add: async (sent, { now, month }) => {
      const added: EgressRow[] = []
      for (const { holdId, domain, bytes } of sent) {
        const accountId = ownerOf(holdId, now)
        if (accountId === undefined) continue
        const row = rows.find(one => one.accountId === accountId && one.domain === domain && one.month === month)
        if (row === undefined) rows.push({ accountId, domain, month, bytes })
        else row.bytes += bytes
        const sum = added.find(one => one.accountId === accountId && one.domain === domain)
        if (sum === undefined) added.push({ accountId, domain, bytes })
        else sum.bytes += bytes
        const isKept = (one: (typeof rows)[0]): boolean => one.accountId !== accountId || one.month > month - 100
        rows.splice(0, rows.length, ...rows.filter(isKept))
      }
      return added
    },
    ownerOf: async (holdId, { now, month }) => {
      const owner = await accounts.get(ownerOf(holdId, now) ?? '')
      if (owner === null) return null
      const sent = rows.filter(row => row.accountId === owner.id && row.month === month)
      return { accountId: owner.id, plan: owner.plan, bytes: sent.reduce((sum, { bytes }) => sum + bytes, 0) }
    },
    read: async (accountIds, month) =>
      rows
        .filter(row => row.month === month && accountIds.includes(row.accountId))
        .toSorted((a, b) => (`${a.accountId} ${a.domain}` < `${b.accountId} ${b.domain}` ? -1 : 1))
        .map(({ month: _, ...row }) => row),
  }
}
