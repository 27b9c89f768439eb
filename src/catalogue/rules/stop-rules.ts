import type { DeletionStops } from '../deletion-stops.ts'
import { among, either } from './dialect.ts'
import type { CatalogueDriver } from './driver.ts'
import { fragment, sql } from './statement.ts'

/** Accounts whose released bytes one transaction forgets. */
const STEP = 500

const BEGIN = sql`INSERT INTO deletion_stops (node) VALUES (:node) ON CONFLICT (node) DO NOTHING`
const END = sql`DELETE FROM deletion_stops WHERE node = :node`
/** Condition: no set-back stops the node. Only an external database can be set back. */
const HAS_OFFERED = either(
  '1 = 1',
  `(SELECT offered FROM nodes WHERE name = :node) IS NOT DISTINCT FROM (SELECT id FROM set_backs ORDER BY seq DESC LIMIT 1)`,
)
const SOME = fragment`SELECT account_id FROM released_bytes WHERE node = :node ORDER BY account_id LIMIT ${String(STEP)}`
const FORGET = sql`
  DELETE FROM released_bytes WHERE node = :node AND account_id ${among(SOME)} AND ${HAS_OFFERED}`
const UNDELETED = sql<{ bytes: number }>`
  SELECT kept_bytes + COALESCE((
    SELECT bytes FROM released_bytes WHERE node = :node AND account_id = :accountId), 0) AS bytes
  FROM accounts WHERE id = :accountId`

/** @param node name of this node; empty for a catalogue of one node */
export function stopRules(driver: CatalogueDriver, node: string): DeletionStops {
  const forget = async (): Promise<void> => {
    while ((await driver.run(FORGET, { node }, { patient: true })) === STEP);
  }
  return {
    begin: async () => {
      await forget()
      await driver.run(BEGIN, { node })
    },
    end: async () => {
      await driver.run(END, { node })
      await forget()
    },
    undeletedBytes: async accountId => (await driver.first(UNDELETED, { node, accountId }))?.bytes ?? 0,
  }
}
