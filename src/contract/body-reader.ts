import { type Static, type TSchema, Type } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import { checkTexts } from '../config/given-texts.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { ApiRequest } from '../http/api-messages.ts'
import { readJsonBody } from '../http/json-body.ts'

/** In characters. Equals the maximum length of a path. */
const LONGEST_TEXT = 4_096
/** Maximum for an array whose schema has no `maxItems`. */
const MOST_ITEMS = 1_000
export const required = Type.String({ maxLength: LONGEST_TEXT })
/**
 * A required id, CID or path. Its characters are not checked, so an impossible value gets the response of an unknown
 * value.
 */
export const identifier = Type.String({ maxLength: LONGEST_TEXT })
export const optional = Type.Optional(required)

export const optionalMeta = Type.Optional(
  Type.Record(Type.String(), required, { maxProperties: 64, description: 'at most 64 texts, 4,096 bytes as JSON' }),
)

/** A missing body counts as an empty object, and a null field counts as missing. Unknown keys are ignored. */
export type BodyReader<T> = (request: ApiRequest) => Promise<T>

/** Creates a reader that throws `VALIDATION` for the first invalid field, and the errors of {@link readJsonBody}. */
export function bodyReader<Schema extends TSchema>(schema: Schema, maxBytes: number): BodyReader<Static<Schema>> {
  const { properties = {} } = schema as { properties?: Record<string, unknown> }
  // Compiled for the first body, because compilation is slow and most routes never receive a body.
  let validator: Validator | undefined
  return async request => {
    const body = withoutNulls((await readJsonBody(request, maxBytes)) ?? {})
    checkTexts(isFields(body) ? withoutIdentifiers(body, properties) : body, '')
    checkLengths(schema, body)
    validator ??= Compile(schema)
    if (validator.Check(body)) return body as Static<Schema>
    const [first, ...others] = validator.Errors(body)
    throw new HoldfastError('VALIDATION', first === undefined ? 'the body is malformed' : describe(first, others))
  }
}

/** Checks the length of arrays. The validator runs later, because it would list every invalid item of a long array. */
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

interface Finding {
  keyword: string
  instancePath: string
  message: string
  params: object
}

function describe(error: Finding, others: readonly Finding[]): string {
  const field = error.instancePath.slice(1).replaceAll('/', '.')
  const { requiredProperties, allowedValues } = error.params as {
    requiredProperties?: string[]
    allowedValues?: string[]
  }
  if (error.keyword === 'enum') return `${field} must be one of ${(allowedValues ?? []).join(', ')}`
  if (error.keyword === 'const') return `${field} must be ${constantsOf([error, ...others]).join(' or ')}`
  if (error.keyword === 'required') return `${requiredProperties?.[0] ?? 'a field'} is missing`
  return `${field === '' ? 'the body' : field} ${error.message}`
}

/** Returns the values that the first field of the errors may have. */
function constantsOf(errors: readonly Finding[]): string[] {
  const place = errors[0]?.instancePath
  const ofField = errors.filter(({ keyword, instancePath }) => keyword === 'const' && instancePath === place)
  return ofField.map(({ params }) => JSON.stringify((params as { allowedValue?: unknown }).allowedValue))
}
