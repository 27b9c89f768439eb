import Type, { type Static, type TSchema } from 'typebox'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { HttpAnswer } from '../remote/http-client.ts'
import { answerAs, jsonAs, shortened } from '../remote/json-answers.ts'

/** What the RPC of a Kubo answers, as far as it is looked at. */
export const kuboConfigSchema = Type.Object({ Value: Type.Unknown() })

export const pinsSchema = Type.Object({
  Keys: Type.Record(Type.String(), Type.Object({ Type: Type.String(), Name: Type.Optional(Type.String()) })),
})

export const kuboPinSchema = Type.Object({
  Cid: Type.String(),
  Name: Type.Optional(Type.String()),
  Type: Type.String(),
})

/** One line for each root, which may have failed, and one at the end. */
export const importSchema = Type.Object({
  Root: Type.Optional(Type.Object({ PinErrorMsg: Type.Optional(Type.String()) })),
  Stats: Type.Optional(Type.Object({ BlockCount: Type.Integer() })),
})

/** Lines while it goes through the DAG, and the last one. */
export const pinAddSchema = Type.Object({
  Progress: Type.Optional(Type.Integer()),
  Pins: Type.Optional(Type.Array(Type.String())),
})

export const identitySchema = Type.Object({ ID: Type.String({ minLength: 1, maxLength: 128 }) })

export const repositorySchema = Type.Object({ RepoSize: Type.Integer(), StorageMax: Type.Integer() })

export const blockStatSchema = Type.Object({ Size: Type.Integer({ minimum: 0, maximum: 4 * 1024 * 1024 }) })

const errorSchema = Type.Object({ Message: Type.String() })
const STREAM_ERROR = 'x-stream-error'

/** @throws HoldfastError `UNAVAILABLE` for what is no such answer */
export function parseKuboAnswer<Schema extends TSchema>(schema: Schema, text: string): Static<Schema> {
  return answerAs(schema, text, noKuboAnswer)
}

export function noKuboAnswer(cause?: unknown): HoldfastError {
  return new HoldfastError('UNAVAILABLE', 'the Kubo of the cluster answered what is no answer', { cause })
}

/** What the RPC says is wrong; null if nothing is. */
export function errorIn({ status, text, trailers }: HttpAnswer): string | null {
  if (status === 200) {
    // What goes wrong once it has begun to answer comes last.
    const late = trailers?.[STREAM_ERROR]
    return late === undefined || late === '' ? null : shortened(late)
  }
  const error = status === 500 ? jsonAs(errorSchema, text) : null
  return error === null ? `it answered ${status}` : shortened(error.Message)
}

/** That nothing has come, or gone on, for too long. */
export function tooLate(): HoldfastError {
  return new HoldfastError('UNAVAILABLE', 'the Kubo of the cluster did not answer in time')
}

export function failure(problem: string): HoldfastError {
  return new HoldfastError('UNAVAILABLE', `the Kubo of the cluster: ${problem}`)
}
