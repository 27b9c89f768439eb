import type { Static, TSchema } from 'typebox'
import { Value } from 'typebox/value'
import type { HoldfastError } from '../../src/domain/errors.ts'

/** In characters. */
const MAX_MESSAGE = 200

/** Returns null if the text does not match the schema, which allows unknown fields. */
export function jsonAs<Schema extends TSchema>(schema: Schema, text: string): Static<Schema> | null {
  try {
    return checked(schema, text)
  } catch {
    return null
  }
}

/** Throws the error that `invalid` returns, if the answer does not match the schema. */
export function answerAs<Schema extends TSchema>(
  schema: Schema,
  text: string,
  invalid: (cause: unknown) => HoldfastError,
): Static<Schema> {
  try {
    return checked(schema, text)
  } catch (cause) {
    throw invalid(cause)
  }
}

/** Shortens a message from another server, and replaces its control characters with spaces. */
export function shortened(message: string): string {
  return message.slice(0, MAX_MESSAGE).replace(/\p{Cc}+/gu, ' ')
}

function checked<Schema extends TSchema>(schema: Schema, text: string): Static<Schema> {
  const value: unknown = JSON.parse(text)
  if (Value.Check(schema, value)) return value
  throw new TypeError('the JSON does not match the schema')
}
