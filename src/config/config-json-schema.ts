import type { BackendKind } from './backend-kind.ts'
import { configSchema } from './config-schema.ts'

/** Keys of our schemas that JSON Schema does not know. The documents need them. */
const OWN_KEYS = new Set(['defaultText', 'typeText'])

/**
 * Makes a JSON Schema (2020-12) of the configuration, for editors. It refuses unknown keys and wrong types. It cannot
 * express the checks between fields, which `parseConfig` also makes.
 *
 * @param kinds kinds of remote systems that clusters may use; default: none
 * @example await writeFile('schema.json', JSON.stringify(configJsonSchema()))
 */
export function configJsonSchema(kinds: readonly BackendKind[] = []): Record<string, unknown> {
  const schema = plain(configSchema)
  const { clusters } = schema.properties
  clusters.items.properties.backend = { anyOf: kinds.map(kind => plain(kind.schema)) }
  const reference = { type: 'string', description: 'Schema of this file, for editors. The server ignores it.' }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...schema,
    properties: { $schema: reference, ...schema.properties },
  }
}

interface PlainSchema extends Record<string, unknown> {
  properties: { clusters: { items: { properties: Record<string, unknown> } } }
}

/** Copies a schema as JSON. Links in descriptions become their texts, because they lead to pages of the documents. */
function plain(schema: object): PlainSchema {
  const text = JSON.stringify(schema, (key, value: unknown) => {
    if (OWN_KEYS.has(key)) return undefined
    return key === 'description' ? String(value).replace(/\[([^[\]]*)\]\([^()]*\)/g, '$1') : value
  })
  return JSON.parse(text) as PlainSchema
}
