import { type Static, type TSchema, Type } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import { checkTexts } from '../config/given-texts.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { ApiRequest } from '../http/api-messages.ts'
import { readJsonBody } from '../http/json-body.ts'

/** Nothing that these fields can mean is longer: paths are 4,096 bytes at most. */
const LONGEST_TEXT = 4_096
/** Of an array whose schema says nothing else. */
const MOST_ITEMS = 1_000
/** A text field that has to be there. */
export const required = Type.String({ maxLength: LONGEST_TEXT })
/** An id, CID or path that has to be there. A value that nothing can have is answered like one that is unknown. */
export const identifier = Type.String({ maxLength: LONGEST_TEXT })
/** A text field that may be left out. */
export const optional = Type.Optional(required)

/** What is to be kept with a record. */
export const optionalMeta = Type.Optional(
  Type.Record(Type.String(), required, { maxProperties: 64, description: 'at most 64 texts, 4,096 bytes as JSON' }),
)

/** Reads the JSON body of a request, checked. No body is an empty object, null a missing field, unknown keys pass. */
export type BodyReader<T> = (request: ApiRequest) => Promise<T>

/**
 * Returns a reader that throws `VALIDATION` naming the first field that is wrong, and what the body reading throws.
 *
 * @param maxBytes of a body
 */
export function bodyReader<Schema extends TSchema>(schema: Schema, maxBytes: number): BodyReader<Static<Schema>> {
  const { properties = {} } = schema as { properties?: Record<string, unknown> }
  // When the first body comes: most routes of a process never see one, and compiling takes time at its start.
  let validator: Validator | undefined
  return async request => {
    const body = withoutNulls((await readJsonBody(request, maxBytes)) ?? {})
    checkTexts(isFields(body) ? withoutIdentifiers(body, properties) : body, '')
    checkLengths(schema, body)
    validator ??= Compile(schema)
    if (validator.Check(body)) return body as Static<Schema>
    const [first] = validator.Errors(body)
    throw new HoldfastError('VALIDATION', first === undefined ? 'the body is malformed' : describe(first))
  }
}

/** Before anything looks at what is in them: of a long array the validator would describe each item that is wrong. */
function checkLengths(schema: TSchema, body: unknown): void {
  const { properties = {} } = schema as { properties?: Record<string, { maxItems?: number }> }
  for (const [name, { maxItems = MOST_ITEMS }] of Object.entries(properties)) {
    const value: unknown = (body as Record<string, unknown>)[name]
    if (Array.isArray(value) && value.length > maxItems) {
      throw new HoldfastError('VALIDATION', `${name} must not have more than ${maxItems} items`)
    }
  }
}

function withoutIdentifiers(body: object, properties: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(body).filter(([name]) => properties[name] !== identifier))
}

function withoutNulls(body: unknown): unknown {
  if (!isFields(body)) return body
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))
}

function isFields(body: unknown): body is object {
  return typeof body === 'object' && body !== null && !Array.isArray(body)
}

function describe(error: { keyword: string; instancePath: string; message: string; params: object }): string {
  const field = error.instancePath.slice(1).replaceAll('/', '.')
  const { requiredProperties } = error.params as { requiredProperties?: string[] }
  if (error.keyword === 'required') return `${requiredProperties?.[0] ?? 'a field'} is missing`
  return `${field === '' ? 'the body' : field} ${error.message}`
}
