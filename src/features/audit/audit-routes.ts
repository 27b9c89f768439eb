import { Type } from 'typebox'
import { AUDIT_ACTIONS } from '../../access/audit-actions.ts'
import { orNull } from '../../config/schema-parts.ts'
import { describedInstant, instant, next, PAGE_QUERY, text } from '../../contract/answer-fields.ts'
import { type ContractRoute, routesWith } from '../../contract/contract-route.ts'
import { pageRequest } from '../../contract/list-query.ts'
import type { Services } from '../../contract/services.ts'
import { instantOf } from '../../domain/date-time.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { jsonResponse } from '../../http/json-body.ts'
import { type AuditServices, EXPORTS, exportLines, presentEntry } from './audit-export.ts'
import { AUDIT_ACTORS, type AuditFilter } from './audit-store.ts'

const LONGEST_FILTER = 100

export const EntryView = Type.Object(
  {
    id: text,
    at: describedInstant('time of the first action'),
    lastAt: instant,
    times: Type.Integer({ minimum: 1, description: 'number of equal actions that the entry stands for' }),
    actor: Type.Enum([...AUDIT_ACTORS], { description: '`stranger`: credentials were refused' }),
    account: orNull(Type.String({ description: 'the account that acted, or that a failed sign-in named' })),
    email: orNull(Type.String({ description: 'null if the account is unknown or deleted' })),
    credential: orNull(Type.Enum(['key', 'session'])),
    credentialId: orNull(text),
    address: orNull(text),
    action: Type.String({ description: 'such as `key.create`' }),
    outcome: Type.String({ description: '`ok`, or the code of the error' }),
    subject: orNull(Type.String({ description: 'id, CID or name of the changed thing; null if the action failed' })),
  },
  { title: 'AuditEntry' },
)

const list = routesWith<AuditServices>()({
  access: 'owner',
  tag: 'The owner',
  method: 'GET',
  path: '/audit',
  summary: 'List or export the audit log, newest first',
  details:
    '`{entries: [{id, at, lastAt, times, actor, account, email, credential, credentialId, address, action, outcome, ' +
    'subject}], next}`. The filters are `account` (an id or an email), `action`, `outcome` (`ok` or the code of an error), `from` and ' +
    '`until`. A page takes `limit` (100, at most 1,000) and `after`. It may have fewer entries than `limit`, or none, ' +
    'although `next` is set. With `format=jsonl` or `format=csv`, the answer is a file with all entries that match. The ' +
    '[limits](limits.md) tell which actions share an entry, and how long entries are kept.',
  query: {
    ...PAGE_QUERY,
    account: {
      description: 'Only actions of the account with this id or email, and sign-ins that named it.',
      schema: text,
    },
    action: { description: 'Only this action.', schema: Type.Enum([...AUDIT_ACTIONS]) },
    outcome: { description: 'Only this outcome: `ok`, or the code of an error.', schema: text },
    from: { description: 'Only entries from this instant on.', schema: instant },
    until: { description: 'Only entries before this instant.', schema: instant },
    format: { description: '`jsonl` or `csv` for a file.', schema: Type.Enum(['json', 'jsonl', 'csv']) },
  },
  answers: {
    200: {
      media: 'application/json',
      schema: Type.Object({ entries: Type.Array(EntryView), next }, { title: 'AuditLog' }),
    },
  },
  errors: ['VALIDATION'],
  handler: async ({ query, request }, { audit, accounts }) => {
    const filter = await filterOf(query, accounts)
    const format = oneOf(query, 'format', ['json', 'jsonl', 'csv'] as const) ?? 'json'
    if (format === 'json') {
      const page = await audit.list(filter, pageRequest(query))
      return jsonResponse(200, { entries: page.rows.map(presentEntry), next: page.next })
    }
    const { media, extension } = EXPORTS[format]
    const headers = { 'content-type': media, 'content-disposition': `attachment; filename="audit.${extension}"` }
    return { status: 200, headers, body: exportLines(audit, filter, EXPORTS[format], request.signal) }
  },
})

export const auditRoutes: ReadonlyArray<ContractRoute<Services & AuditServices>> = [list]

/** @throws HoldfastError `VALIDATION`, which names the parameter */
async function filterOf(query: URLSearchParams, accounts: Services['accounts']): Promise<AuditFilter> {
  return {
    accountId: await accountIn(query, accounts),
    action: oneOf(query, 'action', AUDIT_ACTIONS),
    outcome: shortText(query, 'outcome'),
    from: instantIn(query, 'from') ?? Number.MIN_SAFE_INTEGER,
    until: instantIn(query, 'until') ?? Number.MAX_SAFE_INTEGER,
  }
}

/** Returns the id of the account. The log also has entries of accounts that are deleted, whose ids it takes as they are. */
async function accountIn(query: URLSearchParams, accounts: Services['accounts']): Promise<string | undefined> {
  const given = shortText(query, 'account')
  if (given === undefined || !given.includes('@')) return given
  const found = await accounts.find(given)
  if (found === undefined) throw new HoldfastError('VALIDATION', `account: no account has the email ${given}`)
  return found.id
}

function shortText(query: URLSearchParams, name: string): string | undefined {
  const value = query.get(name) || undefined
  if (value === undefined || value.length <= LONGEST_FILTER) return value
  throw new HoldfastError('VALIDATION', `${name} must not be longer than ${LONGEST_FILTER} characters`)
}

function oneOf<Value extends string>(
  query: URLSearchParams,
  name: string,
  values: readonly Value[],
): Value | undefined {
  const given = query.get(name) || undefined
  const value = values.find(one => one === given)
  if (given === undefined || value !== undefined) return value
  throw new HoldfastError('VALIDATION', `${name} must be one of ${values.join(', ')}`)
}

function instantIn(query: URLSearchParams, name: string): number | undefined {
  const given = query.get(name) || undefined
  const at = given === undefined ? undefined : instantOf(given)
  if (at !== null) return at
  throw new HoldfastError('VALIDATION', `${name} must be an instant such as 2030-01-31T12:00:00Z`)
}
