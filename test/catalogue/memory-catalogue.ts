import type { Catalogue, ListedFile } from '../../src/catalogue/index.ts'
import { memoryAudit } from '../features/audit/memory-audit.ts' // feature: audit
import { memoryWebhooks, WebhookRows } from '../features/webhooks/memory-webhooks.ts' // feature: webhooks
import { memoryAccess } from './memory-access.ts'
import { memoryBulk } from './memory-bulk.ts'
import { MemoryContent, memoryFetches, memoryRecords } from './memory-content.ts'
import { memoryEgress } from './memory-egress.ts'
import { memoryPlacements } from './memory-placements.ts'
import { memoryFiles, memoryReconciliation } from './memory-reconciliation.ts'
import { memoryStops } from './memory-stops.ts'

/** Changes to the ledger from outside the catalogue. */
export interface Surroundings {
  /** Creates a staged root, with the files below it. Returns its id. */
  stage(backendId: number, files?: readonly ListedFile[]): Promise<number>
  /** Places a hold without the catalogue. */
  hold(id: string, rootId: number): Promise<void>
  /** Returns the id of a record's hold. */
  holdOf(recordId: string): Promise<string>
  /** Removes a hold without the catalogue. The root stays. */
  unhold(id: string): Promise<void>
  /** Drops a root. */
  lose(rootId: number): Promise<void>
}

/** A catalogue, with access to its ledger, for the rules of content. */
export type ContentCatalogue = Catalogue & Surroundings

/**
 * Creates a minimal catalogue, as a program would with only this package. No command awaits, so each is one
 * transaction.
 *
 * @param external the numbers of external backends, which need placements
 */
export function memoryCatalogue(external: ReadonlySet<number>): ContentCatalogue {
  const all = new MemoryContent(external)
  const files = new Map<number, readonly ListedFile[]>()
  const { account, hasKey, takeUse, ...access } = memoryAccess({
    keysGone: ids => {
      for (const follower of all.followers) follower.keysGone(ids)
    },
    purge: accountId => all.followers.map(follower => follower.purge(accountId)).includes(true),
  })
  // feature: webhooks
  const hooks = new WebhookRows()
  all.followers.push(hooks)
  // end
  const bulk = memoryBulk(all, id => account(id) !== undefined)
  return {
    ...access,
    webhooks: memoryWebhooks(hooks, { account, hasKey }), // feature: webhooks
    egress: memoryEgress(all, access.accounts),
    audit: memoryAudit(access.accounts), // feature: audit
    records: memoryRecords(all, takeUse),
    bulk,
    stops: memoryStops(all, id => bulk.keptBytes(id)),
    fetches: memoryFetches(all),
    files: memoryFiles(all, files),
    placements: memoryPlacements(all),
    reconciliation: memoryReconciliation(all),
    async stage(_backendId, below = []) {
      const id = ++all.made
      files.set(id, below)
      return id
    },
    hold: async (id, rootId) => void all.holds.set(id, rootId),
    holdOf: async id => id,
    unhold: async id => void all.holds.delete(id),
    lose: async rootId => all.drop(rootId),
  }
}
