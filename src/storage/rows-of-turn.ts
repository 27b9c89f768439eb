import { turnSpent } from '../concurrency/turns.ts'

/**
 * Takes rows until the turn of the event loop is spent, and at least one. Each row of a cold database can wait for the
 * disk.
 */
export function rowsOfTurn<Row>(rows: Iterable<Row>): Row[] {
  const taken: Row[] = []
  // Starts the turn, unless other work has started it.
  turnSpent()
  for (const row of rows) {
    taken.push(row)
    if (turnSpent()) break
  }
  return taken
}
