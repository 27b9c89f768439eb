import { type TSchema, Type } from 'typebox'
import type { ErrorCode } from '../../domain/errors.ts'
import type { AnswerName } from './answers.ts'

export interface Parameter {
  readonly description: string
  readonly schema: TSchema
}

export interface Body {
  readonly type: 'application/json' | 'multipart/form-data' | 'application/vnd.ipld.car'
  readonly schema: TSchema
}

/** What the description of the contract says of a route beyond its row in the table. */
export interface Operation {
  readonly tag: 'Files' | 'Lists' | 'Pin status' | 'Account' | 'Signing in' | 'API keys' | 'Node'
  readonly summary: string
  readonly details?: string
  /** By name. Parameters of the path are told by the row; only what they mean stands here. */
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, Parameter>>
  readonly headers?: Readonly<Record<string, Parameter>>
  /** Several if it may come in several media types. */
  readonly body?: Body | readonly Body[]
  /** False: the body may be left out. */
  readonly bodyRequired?: boolean
  /** The body of each status, or the media type of one that is no JSON of ours. */
  readonly answers: Readonly<Record<number, AnswerName | { readonly type: string; readonly schema: TSchema }>>
  /** Beyond those that any route of this access can have. */
  readonly errors?: readonly ErrorCode[]
}

/** By method and path, as in the route table. */
export type Operations = Readonly<Record<string, Operation>>

const text = Type.String()

/** The two places of a cluster outside the body. */
export const CLUSTER = {
  headers: { 'X-Cluster': { description: 'The cluster; wins over every other way to name it.', schema: text } },
  query: { cl: { description: 'The cluster, unless header or body name one.', schema: text } },
} as const

/** What a code of the second factor can be refused with. */
export const CODE: readonly ErrorCode[] = ['2fa_required', '2fa_invalid', 'RATE_LIMIT']

/** What any storing of content can be refused with. */
export const STORING: readonly ErrorCode[] = [
  'INVALID_TIMELOCK',
  'TIMELOCK_NOT_ALLOWED',
  'CLUSTER_NOT_ALLOWED',
  'QUOTA_EXCEEDED',
  'VALIDATION',
  'UNSUPPORTED_MEDIA_TYPE',
  'STORAGE_FULL',
]
