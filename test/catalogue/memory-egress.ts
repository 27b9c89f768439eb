import {
  type AccountStore,
  type EgressRow,
  type EgressStore,
  MOST_PAYERS,
  PAYING_ROOTS,
} from '../../src/catalogue/index.ts'
import type { MemoryContent } from './memory-content.ts'

/** Creates a store of traffic in memory, beside records whose holds have the ids of the records. */
export function memoryEgress(all: MemoryContent, accounts: Pick<AccountStore, 'get'>): EgressStore {
  const rows: Array<EgressRow & { month: number }> = []
  const payersOf = (holdIds: readonly string[], now: number): string[] => {
    const roots = new Set(holdIds.slice(0, PAYING_ROOTS).flatMap(id => all.rows.get(id)?.rootId ?? []))
    const oldest = all.live(now, ({ rootId }) => rootId !== null && roots.has(rootId)).toReversed()
    return [...new Set(oldest.map(({ accountId }) => accountId))].slice(0, MOST_PAYERS)
  }
  return {
    add: async (sent, { now, month }) => {
      const added: EgressRow[] = []
      for (const one of sent) {
        const { domain, bytes } = one
        const accountId = 'accountId' in one ? one.accountId : payersOf([one.holdId], now)[0]
        if (accountId === undefined || (await accounts.get(accountId)) === null) continue
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
    payersOf: async (holdIds, { now, month }) => {
      const found = await Promise.all(payersOf(holdIds, now).map(id => accounts.get(id)))
      return found.flatMap(payer => {
        if (payer === null) return []
        const sent = rows.filter(row => row.accountId === payer.id && row.month === month)
        return { accountId: payer.id, plan: payer.plan, bytes: sent.reduce((sum, { bytes }) => sum + bytes, 0) }
      })
    },
    read: async (accountIds, month) =>
      rows
        .filter(row => row.month === month && accountIds.includes(row.accountId))
        .toSorted((a, b) => (`${a.accountId} ${a.domain}` < `${b.accountId} ${b.domain}` ? -1 : 1))
        .map(({ month: _, ...row }) => row),
  }
}
