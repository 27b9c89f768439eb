import type { Static, TSchema } from 'typebox'
import { Value } from 'typebox/value'
import type { HoldfastError } from '../../src/domain/errors.ts'

/** Characters kept of a foreign message. */
const MAX_MESSAGE = 200

/** Parses JSON. Returns null unless it matches the schema, which allows unknown fields. */
export function jsonAs<Schema extends TSchema>(schema: Schema, text: string): Static<Schema> | null {
  try {
    return checked(schema, text)
  } catch {
    return null
  }
}

/**
 * Parses an answer in JSON.
 *
 * @throws the error of `invalid`, unless the answer matches the schema
 */
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

/** Cuts a foreign message to 200 characters on one line. */
export function shortened(message: string): string {
  return message.slice(0, MAX_MESSAGE).replace(/\p{Cc}+/gu, ' ')
}

function checked<Schema extends TSchema>(schema: Schema, text: string): Static<Schema> {
  const value: unknown = JSON.parse(text)
  if (Value.Check(schema, value)) return value
  throw new TypeError('the JSON does not match the schema')
}
