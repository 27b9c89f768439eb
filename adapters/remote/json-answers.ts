import type { Static, TSchema } from 'typebox'
import { Value } from 'typebox/value'
import type { HoldfastError } from '../../src/domain/errors.ts'

/** Characters of a message of somebody else's that are told. */
const LONGEST_TOLD = 200

/** What JSON has, if it is as the schema says; null otherwise. What the schema does not name may be whatever it is. */
export function jsonAs<Schema extends TSchema>(schema: Schema, text: string): Static<Schema> | null {
  try {
    return checked(schema, text)
  } catch {
    return null
  }
}

/**
 * What an answer in JSON has.
 *
 * @throws what `noAnswer` makes, if it is not as the schema says
 */
export function answerAs<Schema extends TSchema>(
  schema: Schema,
  text: string,
  noAnswer: (cause: unknown) => HoldfastError,
): Static<Schema> {
  try {
    return checked(schema, text)
  } catch (cause) {
    throw noAnswer(cause)
  }
}

/** A message of somebody else's, on one line and short. */
export function shortened(message: string): string {
  return message.slice(0, LONGEST_TOLD).replace(/\p{Cc}+/gu, ' ')
}

function checked<Schema extends TSchema>(schema: Schema, text: string): Static<Schema> {
  const value: unknown = JSON.parse(text)
  if (Value.Check(schema, value)) return value
  throw new TypeError('it is another JSON')
}
