import type { Fetches } from '../../../src/catalogue/fetches.ts'
import { requestFetch } from '../../../src/catalogue/rules/fetch-requests.ts'
import { lockFetch, SET_WHOLE } from '../../../src/catalogue/rules/fetch-rows.ts'
import { fetchRules } from '../../../src/catalogue/rules/fetch-rules.ts'
import { runRule } from '../database/postgres-driver.ts'
import { beginFetch, fetchParts } from '../holds/fetch-parts.ts'
import { NeedsHold } from '../holds/shared-holds.ts'
import { putRoot } from '../holds/shared-roots.ts'
import { checkPrivate } from '../lists/private-records.ts'
import type { ContentParts } from './content-change.ts'
import { deliverSome, waitingRecords } from './deliver.ts'

/** Returns the store of fetches. The node with the first request fetches the content into its own ledger. */
export function postgresFetches(of: ContentParts): Fetches {
  const { database, ledger, holds } = of
  const parts = fetchParts(database, holds)
  const { driver } = parts
  const rules = fetchRules(parts)
  return {
    ...rules,
    request: async request => {
      const { backendId, record, owner, now } = request
      await checkPrivate(database, [owner])
      for (let isAgain = false; ; isAgain = true) {
        const isThere = !isAgain && (await rules.find(backendId, record, owner)) !== undefined
        const staged = isThere ? null : await holds.stage(backendId, now)
        try {
          const { isNew, ...made } = await database.transaction(async sql => {
            const { change, records } = await waitingRecords(sql, of, [record.accountId])
            const begin = () => beginFetch(parts, holds, request, staged)
            const requested = await runRule(requestFetch(parts, records, request, begin), sql)
            await change.accounts.write()
            return requested
          }, record.accountId)
          if (staged !== null && !isNew) await holds.discard([staged.id])
          return made
        } catch (error) {
          if (staged !== null) await holds.discard([staged.id])
          if (!(error instanceof NeedsHold)) throw error
        }
      }
    },
    complete: async (fetchId, dag) => {
      const fetch = await runRule(lockFetch(fetchId), database.reading)
      if (fetch === null || fetch.isWhole) return
      const { backendId, rootId, holdId } = fetch
      const wanted = { id: holdId, backendId, stagedRootId: rootId, dag, ends: null }
      const ledgerRootId = (await ledger.place([wanted]))?.[0]?.rootId
      const root = await database.transaction(async sql => {
        const held = `SELECT 1 FROM holds WHERE id = $1 AND state = 'used' FOR UPDATE`
        if ((await sql.first(held, [holdId])) === undefined) return null
        const put = await putRoot(sql, holds.backend(backendId), dag)
        await sql.run('UPDATE holds SET root_id = $2 WHERE id = $1', [holdId, put.id])
        return put
      })
      // A null root means that no record waits any more. The hold is void, but the ledger has just placed it again.
      if (root === null) await ledger.release([holdId])
      if (root === null || ledgerRootId === undefined) return
      if (dag.fileCount > 0 && !root.listed) await holds.list(root.id, ledgerRootId)
      await driver.run(SET_WHOLE, { fetchId, rootId: ledgerRootId })
    },
    deliver: (fetchId, limits, now) => deliverSome(parts, of, { fetchId, limits, now }),
  }
}
