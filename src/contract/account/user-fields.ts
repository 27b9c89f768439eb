import { Type } from 'typebox'
import type { Account } from '../../access/principal.ts'
import { orNull } from '../../config/schema-parts.ts'
import { iso } from '../../domain/iso-instant.ts'
import { VISIBILITIES } from '../../domain/visibility.ts'
import { bytes, count, describedCount, instant, text } from '../answer-fields.ts'
import type { Shown } from '../contract-route.ts'
import type { Services } from '../services.ts'

const limit = orNull(describedCount('null for no limit'))
export const RateLimitView = Type.Object({ requests: count, windowSeconds: count })
const rate = orNull(RateLimitView)

export const planFields = {
  name: text,
  timelock: Type.Boolean({ description: 'true if uploads and pins may expire' }),
  clusters: Type.Union([Type.Array(text), Type.Literal('*')]),
  serverImport: Type.Boolean({ description: 'true if imports by server path are allowed' }),
  maxFileBytes: limit,
  maxDirectoryBytes: limit,
  maxDirectoryFiles: limit,
  maxStorageBytes: limit,
  maxPins: limit,
  maxKeys: limit,
  maxQueuedPins: limit,
  maxEgressBytes: limit,
  pageLimit: Type.Object({ default: count, max: count }),
  rateLimit: rate,
  accountRateLimit: rate,
}
export const PlanDetails = Type.Object(planFields)

export const usage = Type.Object({
  pins: count,
  storedBytes: describedCount('bytes of the distinct DAGs'),
  keptBytes: Type.Optional(
    describedCount('bytes of DAGs that only deleted records name, in their undo period; absent before 0.4.0'),
  ),
})

/** Bytes that the gateway sent for an account this month. The value of an answer may be a few seconds old. */
export const egress = Type.Object({
  month: Type.String({ description: 'UTC, such as 2026-11' }),
  bytes,
  domains: Type.Array(Type.Object({ domain: text, bytes })),
})

export const userFields = {
  id: text,
  email: text,
  username: text,
  name: Type.String({ description: 'the email if the account has no name' }),
  role: Type.Enum(['owner', 'user']),
  plan: Type.String({ description: 'name of the plan' }),
  planDetails: PlanDetails,
  clusters: describedCount('number of clusters of the plan'),
  usage,
  egress,
  createdAt: instant,
  defaultVisibility: Type.Optional(
    Type.Enum([...VISIBILITIES], {
      description: 'visibility of records whose request names none; absent before 0.4.0',
    }),
  ),
  twoFactorEnabled: Type.Boolean(),
}
export const User = Type.Object(userFields, { title: 'User' })

export async function accountView(services: Services, account: Account): Promise<Shown<typeof User>> {
  const plan = services.plans.get(account.plan)
  const [egressOf, usage, twoFactorEnabled] = await Promise.all([
    services.egress.read([account.id]),
    services.pins.usage(account.id),
    services.secondFactor.isEnabled(account.id),
  ])
  return {
    id: account.id,
    email: account.email,
    username: account.email,
    name: account.name ?? account.email,
    role: account.role,
    plan: plan.name,
    planDetails: { ...plan },
    clusters: services.clusters.allowed(plan).length,
    usage,
    egress: egressOf(account.id),
    createdAt: iso(account.createdAt),
    defaultVisibility: account.defaultVisibility,
    twoFactorEnabled,
  }
}
