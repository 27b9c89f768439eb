import { Type } from 'typebox'
import { orNull } from '../config/schema-parts.ts'
import type { ErrorCode } from '../domain/errors.ts'
import { isoInstant } from '../domain/iso-instant.ts'

/**
 * What answers are made of. Their schemas describe the contract and type the presenters; the tests hold real answers
 * against them, and nothing is checked while the service runs.
 */
export const text = Type.String()
export const count = Type.Integer({ minimum: 0 })
export const bytes = Type.Integer({ minimum: 0, description: 'bytes' })
export const instant = Type.String({ format: 'date-time', description: 'UTC with milliseconds' })
export const cid = Type.String({ description: 'content identifier' })
export const clusterId = Type.String({ examples: ['cl0-global'] })

/** How the pages of a list that name the next are asked for. */
export const PAGE_QUERY = {
  limit: { description: '100 unless given, at most 1,000.', schema: Type.Integer({ minimum: 1 }) },
  after: { description: 'The `next` of the page before.', schema: Type.String() },
} as const
export const next = orNull(Type.String({ description: 'what the next page comes after; null at the end' }))

/** The two places of a cluster outside the body. */
export const CLUSTER = {
  headers: { 'X-Cluster': { description: 'The cluster; wins over every other way to name it.', schema: text } },
  query: { cl: { description: 'The cluster, unless header or body name one.', schema: text } },
} as const

/** What any storing of content can be refused with. */
export const STORING: readonly ErrorCode[] = [
  'INVALID_TIMELOCK',
  'TIMELOCK_NOT_ALLOWED',
  'CLUSTER_NOT_ALLOWED',
  'QUOTA_EXCEEDED',
  'VALIDATION',
  'STORAGE_FULL',
]

/** UTC with milliseconds, or null. */
export function iso(ms: number): string
export function iso(ms: number | null): string | null
export function iso(ms: number | null): string | null {
  return ms === null ? null : isoInstant(ms)
}
