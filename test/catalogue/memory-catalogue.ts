import type { Catalogue, ListedFile } from '../../src/catalogue/index.ts'
import { memoryAccess } from './memory-access.ts'
import { MemoryContent, memoryFetches, memoryRecords } from './memory-content.ts'
import { memoryPlacements } from './memory-placements.ts'
import { memoryFiles, memoryReconciliation } from './memory-reconciliation.ts'
import { dropWebhooks, memoryWebhooks } from './memory-webhooks.ts'

/** What the catalogue’s surroundings do: the ledger, and what may befall it. */
export interface Surroundings {
  /** Starts a staged root, with the files that lie below it. Returns its id. */
  stage(backendId: number, files?: readonly ListedFile[]): Promise<number>
  /** Places a hold behind the catalogue’s back. */
  hold(id: string, rootId: number): Promise<void>
  /** Lets go of one in the same way; the root stays. */
  unhold(id: string): Promise<void>
  /** Loses a root. */
  lose(rootId: number): Promise<void>
}

/** What the rules of content are about. */
export type ContentCatalogue = Catalogue & Surroundings

/**
 * A catalogue as somebody writes it who has the package alone: as small as the port allows. Nothing awaits inside a
 * command, so each is one transaction.
 *
 * @param elsewhere the backends that have to be told what to keep
 */
export function memoryCatalogue(elsewhere: ReadonlySet<number>): ContentCatalogue {
  const all = new MemoryContent(elsewhere)
  const files = new Map<number, readonly ListedFile[]>()
  const { account, hasKey, takeUse, ...access } = memoryAccess({
    keysGone: ids => void dropWebhooks(all, ({ keyId }) => keyId !== null && ids.has(keyId)),
    purge: accountId => dropWebhooks(all, webhook => webhook.accountId === accountId),
  })
  return {
    ...access,
    webhooks: memoryWebhooks(all, { account, hasKey }),
    records: memoryRecords(all, takeUse),
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
    unhold: async id => void all.holds.delete(id),
    lose: async rootId => all.drop(rootId),
  }
}
