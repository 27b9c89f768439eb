/** The subset of JSON Schema that the contract uses. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly format?: string
  readonly contentMediaType?: string
  readonly description?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly JsonSchema[]
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
}

/** A row in a table of fields. The name of a nested field contains the path to the field. */
export interface ListedField {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly description: string
}

/** Returns the type as text, such as `string (date-time) or null` or `array of object`. */
export function typeText(schema: JsonSchema): string {
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeText).join(' or ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(value => JSON.stringify(value)).join(' | ')
  if (schema.items !== undefined) return `array of ${typeText(schema.items)}`
  if (schema.contentMediaType !== undefined) return 'file'
  const type = schema.type ?? 'any'
  return schema.format === undefined ? type : `${type} (${schema.format})`
}

/** Lists the fields of an object or of the objects in an array, including nested fields. */
export function fieldsOf(schema: JsonSchema, way = ''): ListedField[] {
  if (schema.items !== undefined) return fieldsOf(schema.items, `${way}[]`)
  return Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    const name = way === '' ? key : `${way}.${key}`
    const required = schema.required?.includes(key) === true
    const inner = value.anyOf?.find(({ properties }) => properties !== undefined) ?? value
    return [
      { name, type: typeText(value), required, description: value.description ?? '' },
      ...(inner.properties !== undefined || inner.items?.properties !== undefined ? fieldsOf(inner, name) : []),
    ]
  })
}
