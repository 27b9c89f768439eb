// Writes the generated parts of the documents, each between the marks `<!-- made by tools/docs.ts: NAME -->` and `<!--
// end -->`. A test fails if one is out of date.
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SECTIONS } from '../adapters/cli/all-commands.ts'
import { helpOf } from '../adapters/cli/help.ts'
import { serverAdapters } from '../adapters/cli/server-adapters.ts'
import { clusterSchema } from '../src/config/cluster-schema.ts'
import { configSchema } from '../src/config/config-schema.ts'
import { planSchema } from '../src/config/plan-schema.ts'
import type { ContractRoute } from '../src/contract/contract-route.ts'
import { parametersOf } from '../src/contract/openapi/openapi-document.ts'
import { ADMIN_PATH, BASE_PATH } from '../src/contract/routes.ts'
import { allRoutes } from '../src/features/all-routes.ts'
import { ERROR_TABLE } from '../src/http/error-codes.ts'
import type { Access } from '../src/http/route.ts'
import { configRows, configTypes, definitionType } from './config-text.ts'

const ROOT = join(import.meta.dirname, '..')

const FIELD_HEAD = ['Field', 'Default', 'Meaning']
const CONFIG_TYPES = 'src/config/engine-options.ts'

const { contract, groups } = await allRoutes()

const PARTS: Readonly<Record<string, () => string>> = {
  routes: () => byTag(contract),
  'routes of the owner': () => {
    const { routes } = groups.find(({ base }) => base === ADMIN_PATH) ?? { routes: [] }
    const rows = routes.map(route => [
      request(route, ADMIN_PATH),
      [`${route.summary}.`, route.details].join(' ').trim(),
    ])
    return table(['Request', 'Action and answer'], rows)
  },
  'fields of the configuration': () => table(FIELD_HEAD, configRows(configSchema)),
  'fields of the network': () => table(FIELD_HEAD, configRows(configSchema.properties.network, 'network.')),
  'fields of the sign-in provider': () => table(FIELD_HEAD, configRows(configSchema.properties.oidc, 'oidc.')),
  'fields of a node': () => table(FIELD_HEAD, configRows(configSchema.properties.node, 'node.')),
  'fields of a cluster': () => table(FIELD_HEAD, configRows(clusterSchema)),
  ...Object.fromEntries(
    serverAdapters.adapters.map(({ type, schema }) => [
      `fields of ${type}`,
      () => table(FIELD_HEAD, configRows(schema)),
    ]),
  ),
  'fields of a plan': () => table(FIELD_HEAD, configRows(planSchema)),
  commands: () => {
    const helps = SECTIONS.flatMap(({ title, commands }) => [
      `## ${title}`,
      ...commands.map(name => `### ${name}\n\n\`\`\`text\n${helpOf(name)}\n\`\`\``),
    ])
    return helps.join('\n\n')
  },
  'error codes': () => {
    const rows = Object.entries(ERROR_TABLE).map(([code, { status, meaning, remedy, isInternal }]) => {
      const shown = isInternal === true && code !== 'INTERNAL_ERROR' ? `${status}, as \`INTERNAL_ERROR\`` : `${status}`
      return [`\`${code}\``, shown, meaning, remedy]
    })
    return table(['Code', 'Status', 'Meaning', 'Remedy'], rows)
  },
}

const MARKED = /(<!-- made by tools\/docs\.ts: ([^\n]*?) -->\n)[\s\S]*?(\n<!-- end -->)/g

/** Returns the documents with marks by their path: their current text, and the text they should have. */
export function generatedDocuments(): Map<string, { is: string; shouldBe: string }> {
  const paths = globSync(['README.md', 'docs/**/*.md'], { cwd: ROOT }).map(path => path.replaceAll('\\', '/'))
  const documents = new Map<string, { is: string; shouldBe: string }>()
  for (const path of paths.toSorted()) {
    const is = readFileSync(join(ROOT, path), 'utf8')
    if (!is.includes('<!-- made by tools/docs.ts:')) continue
    const shouldBe = is.replace(MARKED, (_, begin: string, name: string, end: string) => {
      const make = PARTS[name]
      if (make === undefined) throw new Error(`${path}: no generator is called ${name}`)
      return `${begin}\n${make()}\n${end}`
    })
    documents.set(path, { is, shouldBe })
  }
  documents.set(CONFIG_TYPES, { is: readFileSync(join(ROOT, CONFIG_TYPES), 'utf8'), shouldBe: configTypes() })
  for (const { type, schema } of serverAdapters.adapters) {
    const path = `adapters/${type}/options.ts`
    documents.set(path, {
      is: existsSync(join(ROOT, path)) ? readFileSync(join(ROOT, path), 'utf8') : '',
      shouldBe: definitionType(schema),
    })
  }
  return documents
}

function byTag(routes: readonly ContractRoute[]): string {
  const described = routes.filter(({ method }) => method !== '*')
  return [...new Set(described.map(({ tag }) => tag))]
    .map(tag => `## ${tag}\n\n${routeTable(described.filter(route => route.tag === tag))}`)
    .join('\n\n')
}

function routeTable(routes: readonly ContractRoute[]): string {
  const rows = routes.map(route => [request(route), accessText(route.access), route.summary])
  return table([`Request (below \`${BASE_PATH}\`)`, 'Scope', 'Action'], rows)
}

function request({ method, path }: ContractRoute, base = ''): string {
  const shown = parametersOf(path).reduce((text, name) => text.replace(new RegExp(`[:*]${name}`), `<${name}>`), path)
  return `\`${method} ${base}${shown === '' ? '/' : shown}\``
}

function accessText(access: Access): string {
  if (access === 'public') return 'none'
  if (access === 'authenticated') return 'any credential'
  return access === 'session' || access === 'owner' ? `a ${access}` : `\`${access}\``
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n')
}

if (process.argv[1] === import.meta.filename) {
  for (const [path, { is, shouldBe }] of generatedDocuments()) {
    if (is === shouldBe) continue
    writeFileSync(join(ROOT, path), shouldBe)
    process.stdout.write(`${path}\n`)
  }
}
