import Type, { type Static, type TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { HoldfastError } from '../../domain/errors.ts'
import type { HttpAnswer } from '../../network/http-client.ts'

/** What the RPC of a Kubo answers, as far as it is looked at. */
export const configSchema = Type.Object({ Value: Type.Unknown() })

export const pinsSchema = Type.Object({
  Keys: Type.Record(Type.String(), Type.Object({ Type: Type.String(), Name: Type.Optional(Type.String()) })),
})

export const pinSchema = Type.Object({
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

const errorSchema = Type.Object({ Message: Type.String() })
const LONGEST_TOLD = 200
const STREAM_ERROR = 'x-stream-error'

/** @throws HoldfastError `UNAVAILABLE` for what is no such answer */
export function parseAnswer<Schema extends TSchema>(schema: Schema, text: string): Static<Schema> {
  try {
    const value: unknown = JSON.parse(text)
    // What is not looked at may be whatever it is.
    if (Value.Check(schema, value)) return value
  } catch (cause) {
    throw noAnswer(cause)
  }
  throw noAnswer()
}

export function noAnswer(cause?: unknown): HoldfastError {
  return new HoldfastError('UNAVAILABLE', 'the Kubo of the cluster answered what is no answer', { cause })
}

/** What the RPC says is wrong; null if nothing is. */
export function errorIn({ status, text, trailers }: HttpAnswer): string | null {
  if (status === 200) {
    // What goes wrong once it has begun to answer comes last.
    const late = trailers?.[STREAM_ERROR]
    return late === undefined || late === '' ? null : told(late)
  }
  try {
    const value: unknown = JSON.parse(text)
    if (status === 500 && Value.Check(errorSchema, value)) return told(value.Message)
  } catch {
    // What is not JSON says nothing that can be told.
  }
  return `it answered ${status}`
}

/** That nothing has come, or gone on, for too long. */
export function tooLate(): HoldfastError {
  return new HoldfastError('UNAVAILABLE', 'the Kubo of the cluster did not answer in time')
}

export function failure(problem: string): HoldfastError {
  return new HoldfastError('UNAVAILABLE', `the Kubo of the cluster: ${problem}`)
}

/** A message of somebody else's, on one line and short. */
export function told(message: string): string {
  return message.slice(0, LONGEST_TOLD).replace(/\p{Cc}+/gu, ' ')
}
