import type { Catalogue, ListedFile } from '../../src/catalogue/index.ts'
import { memoryAccess } from './memory-access.ts'
import { MemoryContent, memoryFetches, memoryRecords } from './memory-content.ts'
import { memoryPlacements } from './memory-placements.ts'
import { memoryFiles, memoryReconciliation } from './memory-reconciliation.ts'

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

/** The part of the catalogue that the rules of content are about. */
export type ContentCatalogue = Pick<Catalogue, 'records' | 'fetches' | 'files' | 'placements' | 'reconciliation'> &
  Surroundings

/**
 * A catalogue as somebody writes it who has the package alone: as small as the port allows. Nothing awaits inside a
 * command, so each is one transaction.
 *
 * @param elsewhere the backends that have to be told what to keep
 */
export function memoryCatalogue(elsewhere: ReadonlySet<number>): Catalogue & Surroundings {
  const all = new MemoryContent(elsewhere)
  const files = new Map<number, readonly ListedFile[]>()
  return {
    ...memoryAccess(),
    records: memoryRecords(all),
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
