import { Type } from 'typebox'
import { orNull } from '../config/schema-parts.ts'
import type { ErrorCode } from '../domain/errors.ts'

/**
 * These schemas document the API and type the functions that build responses. Only tests validate responses against
 * them.
 */
export const text = Type.String()
export const count = Type.Integer({ minimum: 0 })
export const describedCount = (description: string) => Type.Integer({ minimum: 0, description })
export const bytes = Type.Integer({ minimum: 0, description: 'in bytes' })
export const instant = Type.String({ format: 'date-time', description: 'UTC with milliseconds' })
export const describedInstant = (description: string) => Type.String({ format: 'date-time', description })
export const cid = Type.String({ description: 'content identifier' })
export const clusterId = Type.String({ examples: ['cl0-global'] })

export const PAGE_QUERY = {
  limit: { description: '100 unless given, at most 1,000.', schema: Type.Integer({ minimum: 1 }) },
  after: { description: 'The `next` of the previous page.', schema: Type.String() },
} as const
export const next = orNull(Type.String({ description: 'send it as `after` for the next page; null at the end' }))

/** A request can name a cluster in a header or query parameter. */
export const CLUSTER = {
  headers: { 'X-Cluster': { description: 'The cluster. Overrides the query and the body.', schema: text } },
  query: { cl: { description: 'The cluster, unless the header or body names one.', schema: text } },
} as const

/** Errors of every request to store content. */
export const STORING: readonly ErrorCode[] = [
  'INVALID_TIMELOCK',
  'TIMELOCK_NOT_ALLOWED',
  'CLUSTER_NOT_ALLOWED',
  'QUOTA_EXCEEDED',
  'VALIDATION',
  'STORAGE_FULL',
]
