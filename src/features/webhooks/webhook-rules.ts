import type { RuleHost } from '../../catalogue/rules/access-stores.ts'
import { LOCKED_ACCOUNT } from '../../catalogue/rules/account-rows.ts'
import { either } from '../../catalogue/rules/dialect.ts'
import { all, first, run } from '../../catalogue/rules/driver.ts'
import { columnNames, columns, sql, valuesOf } from '../../catalogue/rules/statement.ts'
import { deliveryRules } from './delivery-rules.ts'
import type { WebhookRow, WebhookStore } from './webhook-store.ts'

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

export function webhookRules({ driver, node }: RuleHost): WebhookStore {
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
