import Type, { type Static, type TSchema } from 'typebox'
import { HoldfastError } from '../../src/domain/errors.ts'
import { answerAs, jsonAs, shortened } from '../remote/json-answers.ts'

/** A pin in an answer of the REST API. Each schema in this file contains only the fields that Holdfast uses. */
export const clusterPinSchema = Type.Object({
  cid: Type.String(),
  /** `pin`, unless the pin is one shard of a DAG. */
  type: Type.String(),
  name: Type.String(),
  metadata: Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()]),
  /** If both factors are -1, all peers must have the content. */
  replication_factor_min: Type.Integer(),
  replication_factor_max: Type.Integer(),
  origins: Type.Union([Type.Array(Type.String()), Type.Null()]),
})

export const statusSchema = Type.Object({
  cid: Type.String(),
  peer_map: Type.Record(
    Type.String(),
    Type.Object({ ipfs_peer_id: Type.Optional(Type.String()), status: Type.String(), error: Type.String() }),
  ),
})

/** The blocks in the answer to an upload. The last block is the root. */
export const addedSchema = Type.Array(
  Type.Object({ cid: Type.String(), allocations: Type.Optional(Type.Array(Type.String())) }),
  { minItems: 1 },
)

export const peerSchema = Type.Object({
  id: Type.String(),
  error: Type.String(),
  ipfs: Type.Optional(Type.Object({ error: Type.String() })),
})

export const metricsSchema = Type.Array(
  Type.Object({ peer: Type.String(), value: Type.String(), valid: Type.Boolean() }),
)

const errorSchema = Type.Object({ message: Type.String() })

/** Throws a HoldfastError `UNAVAILABLE` if the text does not match the schema. */
export function parseClusterAnswer<Schema extends TSchema>(schema: Schema, text: string): Static<Schema> {
  return answerAs(schema, text, noClusterAnswer)
}

export function noClusterAnswer(cause?: unknown): HoldfastError {
  return new HoldfastError('UNAVAILABLE', 'the IPFS Cluster sent an invalid answer', { cause })
}

/** Error for a CID that is not pinned. The status 404 proves nothing, because another server may send it. */
const NOT_PINNED = /\bnot part of the pinset\b/

/** Returns `NOT_FOUND` if the CID is not pinned, else `UNAVAILABLE`. */
export function clusterRefusal({ status, text }: { status: number; text: string }): HoldfastError {
  const error = jsonAs(errorSchema, text)
  const detail = error === null ? '' : `: ${shortened(error.message)}`
  const code = status === 404 && NOT_PINNED.test(detail) ? 'NOT_FOUND' : 'UNAVAILABLE'
  return new HoldfastError(code, `the IPFS Cluster answered ${status}${detail}`)
}
