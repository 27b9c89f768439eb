import type { WebhookRow, WebhookStore } from '../webhook-store.ts'
import { LOCKED_ACCOUNT } from './account-rows.ts'
import { deliveryRules } from './delivery-rules.ts'
import { either } from './dialect.ts'
import { all, type CatalogueDriver, first, run } from './driver.ts'
import { columnNames, columns, sql, valuesOf } from './statement.ts'

type NewWebhook = Omit<WebhookRow, 'waiting' | 'dropped'>

const newWebhook = columns<NewWebhook>({
  id: 'text',
  accountId: 'text',
  keyId: 'text',
  url: 'text',
  secret: 'bytes',
  createdAt: 'integer',
})
const webhook = columns<WebhookRow>({ ...newWebhook.kinds, waiting: 'integer', dropped: 'integer' })

const LOCKED_KEY = sql`
  SELECT 1 FROM api_keys WHERE id = :keyId AND account_id = :accountId ${either('', 'FOR KEY SHARE')}`
const SOME = sql`SELECT id FROM webhooks WHERE account_id = :accountId LIMIT :most`
const INSERT = sql`INSERT INTO webhooks (${columnNames(newWebhook)}) VALUES (${valuesOf(newWebhook)})`
const GET = sql`SELECT ${webhook} FROM webhooks WHERE id = :id AND account_id = :accountId`
const LIST = sql`SELECT ${webhook} FROM webhooks WHERE account_id = :accountId ORDER BY created_at`
const REMOVE = sql`DELETE FROM webhooks WHERE id = :id AND account_id = :accountId`

/** @param node name of the node that leases deliveries */
export function webhookRules(driver: CatalogueDriver, node: string): WebhookStore {
  return {
    insert: (added, most) => {
      const { accountId, keyId } = added
      return driver.transaction(
        function* () {
          if ((yield* first(LOCKED_ACCOUNT, { accountId })) === null) return 'no_account'
          if (keyId !== null && (yield* first(LOCKED_KEY, { keyId, accountId })) === null) return 'no_key'
          if ((yield* all(SOME, { accountId, most })).length >= most) return 'too_many'
          yield* run(INSERT, added)
          return 'inserted'
        },
        { lane: accountId },
      )
    },
    get: (accountId, id) => driver.first(GET, { id, accountId }),
    list: accountId => driver.all(LIST, { accountId }),
    remove: async (accountId, id) => (await driver.run(REMOVE, { id, accountId })) > 0,
    ...deliveryRules(driver, node, ({ webhookId: id, accountId }) => first(GET, { id, accountId })),
  }
}
