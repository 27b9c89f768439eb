import Type, { type Static, type TSchema } from 'typebox'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { HttpAnswer } from '../remote/http-client.ts'
import { answerAs, jsonAs, shortened } from '../remote/json-answers.ts'

/** The answer to `config`. Each schema in this file contains only the fields that Holdfast uses. */
export const kuboConfigSchema = Type.Object({ Value: Type.Unknown() })

export const pinsSchema = Type.Object({
  Keys: Type.Record(Type.String(), Type.Object({ Type: Type.String(), Name: Type.Optional(Type.String()) })),
})

export const kuboPinSchema = Type.Object({
  Cid: Type.String(),
  Name: Type.Optional(Type.String()),
  Type: Type.String(),
})

/**
 * A line of the answer to `dag/import`: one line per root, with an error if its import failed. The last line has the
 * totals.
 */
export const importSchema = Type.Object({
  Root: Type.Optional(Type.Object({ PinErrorMsg: Type.Optional(Type.String()) })),
  Stats: Type.Optional(Type.Object({ BlockCount: Type.Integer() })),
})

/** A line of the answer to `pin/add`. Only the last line has the pinned CIDs. */
export const pinAddSchema = Type.Object({
  Progress: Type.Optional(Type.Integer()),
  Pins: Type.Optional(Type.Array(Type.String())),
})

export const identitySchema = Type.Object({ ID: Type.String({ minLength: 1, maxLength: 128 }) })

export const repositorySchema = Type.Object({ RepoSize: Type.Integer(), StorageMax: Type.Integer() })

export const blockStatSchema = Type.Object({ Size: Type.Integer({ minimum: 0, maximum: 4 * 1024 * 1024 }) })

const errorSchema = Type.Object({ Message: Type.String() })
const STREAM_ERROR = 'x-stream-error'

/** Throws a HoldfastError `UNAVAILABLE` if the text does not match the schema. */
export function parseKuboAnswer<Schema extends TSchema>(schema: Schema, text: string): Static<Schema> {
  return answerAs(schema, text, noKuboAnswer)
}

export function noKuboAnswer(cause?: unknown): HoldfastError {
  return new HoldfastError('UNAVAILABLE', 'the Kubo of the cluster sent an invalid answer', { cause })
}

export function errorIn({ status, text, trailers }: HttpAnswer): string | null {
  if (status === 200) {
    // Kubo reports a late error in a trailer.
    const late = trailers?.[STREAM_ERROR]
    return late === undefined || late === '' ? null : shortened(late)
  }
  const error = status === 500 ? jsonAs(errorSchema, text) : null
  return error === null ? `it answered ${status}` : shortened(error.Message)
}

export function timeoutError(): HoldfastError {
  return new HoldfastError('UNAVAILABLE', 'the Kubo of the cluster did not answer in time')
}

export function failure(problem: string): HoldfastError {
  return new HoldfastError('UNAVAILABLE', `the Kubo of the cluster: ${problem}`)
}
