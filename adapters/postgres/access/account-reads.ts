import { isText } from '../../../src/domain/text.ts'
import type { Postgres } from '../database/postgres.ts'
import { AccountBatches } from './account-batches.ts'

/** Size of one call: the parameter is an id. */
const SIZE = { items: 1, bytes: 64 }

/**
 * Returns a function that reads a row by the id of its account, or null. The calls that wait share one statement, which
 * begins after all of them.
 *
 * @param text reads the rows of the accounts `$1`, each with its `id`
 */
export function accountReads<Row extends { id: string }>(
  { reading }: Postgres,
  text: string,
): (id: string) => Promise<Row | null> {
  const batches = new AccountBatches<string, Row | null>(async ids => {
    try {
      const rows = new Map((await reading.all<Row>(text, [[...new Set(ids)]])).map(row => [row.id, row]))
      return ids.map(id => {
        const row = rows.get(id)
        return { value: row === undefined ? null : { ...row } }
      })
    } catch (error) {
      return ids.map(() => ({ error }))
    }
  })
  return async id => (isText(id) ? batches.add(id, id, SIZE) : null)
}
