// Generates TypeScript and tables from the configuration's schema.
import { configSchema } from '../src/config/config-schema.ts'

/** The part of JSON Schema that the configuration uses, with documentation of its fields. */
export interface FieldSchema {
  readonly type?: string | undefined
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly default?: unknown
  /** Text of the default if it is not a plain value. */
  readonly defaultText?: string | undefined
  /** TypeScript type of the field if it is declared in another file. */
  readonly typeText?: string | undefined
  readonly const?: unknown
  readonly anyOf?: readonly FieldSchema[]
  readonly items?: FieldSchema
  readonly properties?: Readonly<Record<string, FieldSchema>>
  readonly required?: readonly string[] | undefined
}

const WIDTH = 120

/** Returns the text of `src/config/engine-options.ts`: types of the configuration for embedders. */
export function configTypes(): string {
  const interfaces = [...titled(configSchema), configSchema]
  return `// Made by \`npm run docs\` from config-schema.ts, which is the place to change it.
import type { ClusterOptions } from '../domain/cluster.ts'
import type { PlanOptions } from '../domain/plan.ts'

${interfaces.map(interfaceText).join('\n')}`
}

/** Returns the type of a cluster's `backend`, from the schema of its adapter. */
export function definitionType(schema: FieldSchema): string {
  const text = `${comment(schema, '')}export type ${schema.title} = {\n${members(schema, '  ')}}\n`
  return `// Made by \`npm run docs\` from definition.ts, which is the place to change it.\n${text}`
}

function titled({ properties = {} }: FieldSchema): FieldSchema[] {
  return Object.values(properties).filter(({ title }) => title !== undefined)
}

function interfaceText(schema: FieldSchema): string {
  return `${comment(schema, '')}export interface ${schema.title} {\n${members(schema, '  ')}}\n`
}

function members({ properties = {}, required = [] }: FieldSchema, indent: string): string {
  return Object.entries(properties)
    .map(([name, field]) => {
      const mark = required.includes(name) ? '' : '?'
      return `${comment(field, indent)}${indent}${name}${mark}: ${typeText(field, indent)}\n`
    })
    .join('')
}

function typeText(field: FieldSchema, indent: string): string {
  if (field.typeText !== undefined) return field.typeText
  if (field.title !== undefined) return field.title
  if (field.anyOf !== undefined) return field.anyOf.map(one => typeText(one, indent)).join(' | ')
  if (field.const !== undefined) return typeof field.const === 'number' ? `${field.const}` : `'${String(field.const)}'`
  if (field.items !== undefined) return `readonly ${typeText(field.items, indent)}[]`
  if (field.properties !== undefined) return `{\n${members(field, `${indent}  `)}${indent}}`
  return field.type === 'integer' ? 'number' : String(field.type)
}

/** Reduces links to their text. */
function comment(field: FieldSchema, indent: string): string {
  const fallback = field.properties === undefined ? defaultOf(field) : null
  const told = [field.description, fallback === null ? undefined : `Default: ${fallback}.`]
  const text = told
    .filter(part => part !== undefined)
    .join(' ')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  if (text === '') return ''
  const one = `${indent}/** ${text} */`
  if (one.length <= WIDTH) return `${one}\n`
  const lines = ['']
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? ''
    if (`${indent} * ${last} ${word}`.length > WIDTH) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  return `${indent}/**\n${lines.map(line => `${indent} * ${line}\n`).join('')}${indent} */\n`
}

/** Returns null for a required field. */
function defaultOf(field: FieldSchema): string | null {
  if (field.defaultText !== undefined) return field.defaultText
  if (field.default === undefined) return null
  if (Array.isArray(field.default) && field.default.length === 0) return 'none'
  const text = typeof field.default === 'string' ? field.default : JSON.stringify(field.default)
  return text === '' ? 'empty' : `\`${text.replaceAll('":', '": ').replaceAll(',"', ', "')}\``
}

/** Returns rows of name, default and meaning. Fields of groups are prefixed with the group's path. */
export function configRows(schema: object, way = ''): string[][] {
  const { properties = {} } = schema as FieldSchema
  return Object.entries(properties).flatMap(([key, field]) => {
    const name = `${way}${key}`
    const isGroup = field.properties !== undefined && field.typeText === undefined && field.defaultText === undefined
    if (isGroup && key !== 'pageLimit') return configRows(field, `${name}.`)
    return [[`\`${name}\``, defaultOf(field) ?? 'required', field.description ?? '']]
  })
}
