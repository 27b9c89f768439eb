import type { Account } from '../account-store.ts'
import { FOR_UPDATE } from './dialect.ts'
import { columns, sql } from './statement.ts'

export const account = columns<Account>({
  id: 'text',
  email: 'text',
  name: 'text',
  plan: 'text',
  role: 'text',
  defaultCluster: 'text',
  disabled: 'flag',
  createdAt: 'integer',
  owner: 'integer',
  defaultVisibility: 'text',
})

export const LIVE_ACCOUNT = 'deleted_at IS NULL'

export const LOCKED_ACCOUNT = sql`SELECT ${account} FROM accounts WHERE id = :accountId AND ${LIVE_ACCOUNT} ${FOR_UPDATE}`
