import type { Database } from '../storage/database.ts'
import { Holds, MUTED } from './holds.ts'
import { RootTable } from './root-table.ts'

const STEP = 1_000
/** Matches ids of the catalogue's own holds, from before or after a move to PostgreSQL. */
const CATALOGUE_HOLD = /^(hold \d+|fetch \d+|[0-9a-z]{9}[\w-]{12})$/

export function isCatalogueHold(id: string): boolean {
  return CATALOGUE_HOLD.test(id)
}

/** Returns the name of the data directory in an external catalogue. Null for a catalogue in SQLite. */
export function catalogueNode(database: Database): string | null {
  return namesOf(database).at(-1) ?? null
}

/** Returns the names that the directory had as nodes that were given up. */
export function formerNodes(database: Database): string[] {
  return namesOf(database).slice(0, -1)
}

/**
 * Gives the directory another name in its catalogue. Its content stays, but nobody reads it until a record of the
 * catalogue holds it again: other nodes may have removed the record meanwhile.
 */
export function nameAgain(database: Database, name: string): void {
  const holds = new Holds(database, new RootTable(database))
  database.transaction(() => {
    for (let page = holds.after('', STEP); page.length > 0; page = holds.after(page.at(-1)?.id ?? '', STEP)) {
      for (const { id } of page) if (isCatalogueHold(id)) holds.setEnds(id, MUTED)
    }
    database.prepare<[string]>('INSERT INTO catalogue_node (name) VALUES (?)').run(name)
  })
}

function namesOf(database: Database): string[] {
  const rows = database.prepare<[], { name: string }>('SELECT name FROM catalogue_node ORDER BY rowid').all()
  return rows.map(({ name }) => name)
}
