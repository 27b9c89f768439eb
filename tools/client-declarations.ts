// Writes the types of the client's answers as interfaces, so that its declarations name no schema. The sources infer
// them from the schemas of the contract, as `Static<typeof module.Schema>`.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/** The part of a JSON schema that answers use. */
interface Schema {
  readonly type?: string
  readonly description?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

const ROOT = join(import.meta.dirname, '..')
const INFERRED = /export type (\w+) = Static<typeof (\w+)\.(\w+)>;?\n/g
const SCHEMAS = /import type \* as (\w+) from ['"](?:\.\.\/)+(src\/[^']+?)\.[jt]s['"];?[^\n]*\n/g
const STATIC = /import type \{ Static \} from ['"]typebox['"];?\n/g

/** Names of the client's types, by the text of their schemas. */
type Names = ReadonlyMap<string, string>

/** Rewrites the declarations of the client in a directory that `tsc` has written. */
async function writeClientDeclarations(directory: string): Promise<void> {
  const client = join(directory, 'adapters/client')
  const paths = readdirSync(client)
    .filter(name => name.endsWith('.d.ts'))
    .map(name => join(client, name))
  const texts = new Map(paths.map(path => [path, readFileSync(path, 'utf8')]))
  for (const [path, text] of await withInterfaces(texts)) writeFileSync(path, text)
}

/** Returns the texts of all files, by path, with interfaces in place of inferred types. */
export async function withInterfaces(texts: ReadonlyMap<string, string>): Promise<Map<string, string>> {
  const schemas = new Map<string, Schema>()
  for (const text of texts.values()) {
    const modules = new Map<string, Readonly<Record<string, Schema>>>()
    for (const [, name = '', path] of text.matchAll(SCHEMAS)) modules.set(name, await import(join(ROOT, `${path}.ts`)))
    for (const [, name = '', module = '', exported = ''] of text.matchAll(INFERRED)) {
      const schema = modules.get(module)?.[exported]
      if (schema === undefined) throw new Error(`the type ${name} of the client has no schema ${module}.${exported}`)
      schemas.set(name, schema)
    }
  }
  const names = new Map([...schemas].map(([name, schema]) => [JSON.stringify(schema), name]))
  const declared = (_: string, name: string): string => declaration(name, schemas.get(name) as Schema, names)
  const written = [...texts].map(([path, text]) => {
    return [path, text.replace(SCHEMAS, '').replace(STATIC, '').replace(INFERRED, declared)] as const
  })
  return new Map(written.map(([path, text]) => [path, importsOf(path, text, texts) + text]))
}

/** Returns the imports of the types that other files of the client infer. */
function importsOf(path: string, text: string, sources: ReadonlyMap<string, string>): string {
  if (sources.get(path) === text) return ''
  const inferred = [...sources].flatMap(([from, source]) =>
    [...source.matchAll(INFERRED)].map(([, name = '']) => ({ name, from: basename(from).replace('.d.ts', '.ts') })),
  )
  return inferred
    .filter(
      ({ name }) => new RegExp(`[:|<] ?${name}\\b`).test(text) && !new RegExp(`(interface|type) ${name}\\b`).test(text),
    )
    .map(({ name, from }) => `import type { ${name} } from './${from}';\n`)
    .join('')
}

function declaration(name: string, schema: Schema, names: Names): string {
  return schema.properties === undefined
    ? `export type ${name} = ${written(schema, names, '')};\n`
    : `export interface ${name} ${fields(schema, names, '')}\n`
}

function typeOf(schema: Schema, names: Names, indent: string): string {
  return names.get(JSON.stringify(schema)) ?? written(schema, names, indent)
}

function written(schema: Schema, names: Names, indent: string): string {
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ')
  if (schema.anyOf !== undefined) return schema.anyOf.map(one => typeOf(one, names, indent)).join(' | ')
  if (schema.items !== undefined) {
    const item = typeOf(schema.items, names, indent)
    return /^(\w+|\{.*\})$/s.test(item) ? `${item}[]` : `Array<${item}>`
  }
  if (schema.properties !== undefined) return fields(schema, names, indent)
  const [values] = Object.values(schema.patternProperties ?? {})
  if (values !== undefined) return `Record<string, ${typeOf(values, names, indent)}>`
  return schema.type === 'integer' ? 'number' : literalType(schema.type)
}

function fields({ properties = {}, required = [] }: Schema, names: Names, indent: string): string {
  const inner = `${indent}    `
  const lines = Object.entries(properties).flatMap(([name, schema]) => [
    ...documented(schema).map(line => inner + line),
    `${inner}${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema, names, inner)};`,
  ])
  return `{\n${lines.join('\n')}\n${indent}}`
}

/** Returns the description as a comment. A union may have its description in a part. */
function documented({ description, anyOf = [] }: Schema): string[] {
  const said = description ?? anyOf.map(part => part.description).find(part => part !== undefined)
  if (said === undefined) return []
  const sentence = said[0]?.toUpperCase() + said.slice(1)
  return [`/** ${/[.!?]$/.test(sentence) ? sentence : `${sentence}.`} */`]
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}

function literalType(type: string | undefined): string {
  if (type === undefined || !['string', 'number', 'boolean', 'null'].includes(type)) {
    throw new Error(`the client has no type for a schema of type ${type}`)
  }
  return type
}

if (process.argv[1] === import.meta.filename) await writeClientDeclarations(process.argv[2] ?? join(ROOT, 'dist'))
