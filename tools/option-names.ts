// Writes the names of the options of each call, from the types of its parameters. The calls refuse other names at run
// time. The flag `--check` only names the files that are out of date.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  API,
  type Checker,
  type Symbol as Named,
  type Project,
  SignatureKind,
  type Type,
} from 'typescript/unstable/sync'

/** A service, or the options of one function. */
interface Source {
  file: string
  type: string
  /** Feature that removes the table with it. */
  feature?: string
  /** True if options in the options are checked, too. Always so for a service. */
  areNested?: true
}

const ROOT = join(import.meta.dirname, '..')
const SOURCES = ['src', 'adapters'].map(directory => join(ROOT, directory, '/'))
const ACCOUNTS = 'src/access/accounts/accounts-handle.ts'

/** Tables of each written file: of a service if the name ends in `_CALLS`, otherwise of options. */
const FILES: Readonly<Record<string, Readonly<Record<string, Source>>>> = {
  'src/config/option-names.ts': {
    PIN_CALLS: { file: 'src/pins/public-pin-service.ts', type: 'PinService' },
    JOB_CALLS: { file: 'src/features/bulk/bulk-jobs.ts', type: 'BulkJobs', feature: 'bulk' }, // feature: bulk
    CONTENT_CALLS: { file: 'src/gateway/reader/content-request.ts', type: 'Content' },
    CLUSTER_CALLS: { file: 'src/api.ts', type: 'ClusterRegistry' },
    ACCOUNT_CALLS: { file: 'src/access/accounts/accounts.ts', type: 'Accounts' },
    KEY_CALLS: { file: 'src/access/keys/keys.ts', type: 'Keys' },
    SESSION_CALLS: { file: ACCOUNTS, type: 'Sessions' },
    SECOND_FACTOR_CALLS: { file: ACCOUNTS, type: 'SecondFactors' },
    TAKEDOWN_CALLS: { file: 'src/api.ts', type: 'TakedownList' },
    NODE_CALLS: { file: 'src/api.ts', type: 'NodeDirectory' },
    EVENT_CALLS: { file: 'src/pins/events.ts', type: 'Events' },
    UPKEEP_CALLS: { file: 'src/engine.ts', type: 'UpkeepCalls' },
    EVENTS: { file: 'src/pins/pin-types.ts', type: 'EngineEvents' },
    ACCOUNTS: { file: ACCOUNTS, type: 'AccountsOptions' },
    CONNECT: { file: ACCOUNTS, type: 'ConnectOptions' },
    MOVE_CATALOGUE: { file: 'src/wiring/move-catalogue.ts', type: 'MoveCatalogueOptions' },
    REPLACE_DATA_KEY: { file: 'src/wiring/replace-data-key.ts', type: 'ReplaceDataKeyOptions' },
    CHECK_BACKUP: { file: 'src/backup/check.ts', type: 'CheckBackupOptions' },
    RESTORE_BACKUP: { file: 'src/backup/restore.ts', type: 'RestoreBackupOptions' },
  },
  'adapters/node-http/http-options.ts': {
    HANDLER: { file: 'adapters/node-http/node-handler.ts', type: 'HandlerOptions' },
    SERVER: { file: 'adapters/node-http/server.ts', type: 'ServerOptions' },
    GATEWAY_SERVER: { file: 'adapters/node-http/http-server.ts', type: 'GatewayServerOptions' },
    READERS: { file: 'adapters/node-http/readers.ts', type: 'ReadersOptions' },
    METRICS: { file: 'adapters/node-http/prometheus-metrics.ts', type: 'MetricsOptions', areNested: true },
    GRACEFUL_STOP: { file: 'adapters/node-http/graceful-stop.ts', type: 'GracefulStop' },
  },
  'adapters/fastify/plugin-options.ts': { PLUGIN: { file: 'adapters/fastify/plugin.ts', type: 'GivenOptions' } },
  'adapters/fetch/fetch-options.ts': { FETCH: { file: 'adapters/fetch/fetch-handler.ts', type: 'FetchOptions' } },
  'adapters/console/console-options.ts': {
    CONSOLE: { file: 'adapters/console/console-handler.ts', type: 'ConsoleOptions' },
  },
  'adapters/client/client-options.ts': {
    CLIENT: { file: 'adapters/client/client.ts', type: 'ClientOptions' },
    REQUEST: { file: 'adapters/client/connection.ts', type: 'RequestOptions' },
    FILE_CALLS: { file: 'adapters/client/files.ts', type: 'Files' },
    PIN_CALLS: { file: 'adapters/client/pins.ts', type: 'Pins' },
    JOB_CALLS: { file: 'adapters/client/bulk.ts', type: 'Jobs', feature: 'bulk' }, // feature: bulk
    CONTENT_CALLS: { file: 'adapters/client/content.ts', type: 'Content' },
    ACCOUNT_CALLS: { file: 'adapters/client/account.ts', type: 'Account' },
    KEY_CALLS: { file: 'adapters/client/account.ts', type: 'Keys' },
    SESSION_CALLS: { file: 'adapters/client/sessions.ts', type: 'Sessions' },
    SECOND_FACTOR_CALLS: { file: 'adapters/client/second-factor.ts', type: 'SecondFactor' },
    WEBHOOK_CALLS: { file: 'adapters/client/webhooks.ts', type: 'Webhooks', feature: 'webhooks' }, // feature: webhooks
    OWNER_CALLS: { file: 'adapters/client/owner.ts', type: 'Owner' },
  },
}

/** Things that a call is about. They may have more fields, for example from a newer server. */
const THINGS = new Set(['Account', 'Principal', 'UploadToken'])
/** Parameters of the client that are such things. */
const THING_PARAMETERS = new Set(['job', 'pin'])
const LINE_WIDTH = 120
const HEAD = `// Written by tools/option-names.ts from the types of the options: npm run docs
`

/** Writes each file that is out of date, or only names it. Returns the paths. */
function update(isCheck: boolean): string[] {
  using api = openApi()
  const names = new OptionNames(api.project)
  return Object.entries(FILES).flatMap(([path, tables]) => {
    const parts = Object.entries(tables).map(([name, source]) => names.table(name, source))
    const text = `${HEAD}\n${parts.join('\n')}`
    if (readFileSync(join(ROOT, path), 'utf8') === text) return []
    if (!isCheck) writeFileSync(join(ROOT, path), text)
    return [path]
  })
}

function openApi(): { project: Project } & Disposable {
  const api = new API({ cwd: ROOT })
  const config = join(ROOT, 'tsconfig.json')
  const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)
  if (project === undefined) throw new Error(`the compiler does not open ${config}`)
  return { project, [Symbol.dispose]: () => api.close() }
}

class OptionNames {
  readonly #project: Project
  readonly #checker: Checker

  constructor(project: Project) {
    this.#project = project
    this.#checker = project.checker
  }

  /** Returns the declaration of a table. */
  table(name: string, source: Source): string {
    const type = this.#typeOf(source)
    const value = name.endsWith('_CALLS') ? this.#calls(type) : `'${this.#names(type, source.areNested).join(' ')}'`
    return marked(`export const ${name} = ${value}\n`, source.feature)
  }

  #typeOf({ file, type }: Source): Type {
    const module = this.#project.program.getSourceFile(join(ROOT, file))
    const at = module?.text.search(new RegExp(`(?<=^(export )?(interface|class|type) )${type}\\b`, 'm')) ?? -1
    const symbol = at < 0 ? undefined : this.#checker.getSymbolAtPosition(join(ROOT, file), at)
    if (symbol === undefined) throw new Error(`${file} declares no ${type}`)
    return this.#checker.getDeclaredTypeOfSymbol(symbol)
  }

  /** Returns the names of each argument that is options, by the method and the position. */
  #calls(service: Type): string {
    const methods = this.#checker.getPropertiesOfType(service).filter(({ name }) => !name.startsWith('__'))
    const lines = methods.flatMap(method => {
      const signatures = this.#checker.getSignaturesOfType(this.#typeOfSymbol(method), SignatureKind.Call)
      const positions = signatures.flatMap(signature =>
        signature.getParameters().map((parameter, i) => [i, this.#argumentNames(parameter)] as const),
      )
      const given = Object.entries(Object.fromEntries(positions.filter(([, names]) => names.length > 0)))
      const rows = given.map(([i, names]) => property(`'${method.name}.${i}':`, names))
      return rows.length === 0 ? [] : [marked(rows.join(''), this.#featureOf(method))]
    })
    return lines.length === 0 ? '{}' : `{\n${lines.join('')}}`
  }

  #argumentNames(parameter: Named): string[] {
    return THING_PARAMETERS.has(parameter.name) ? [] : this.#optionNames(this.#typeOfSymbol(parameter), true)
  }

  /** Returns the feature in whose lines a method is declared. */
  #featureOf({ valueDeclaration }: Named): string | undefined {
    const node = valueDeclaration?.resolve()
    const before = node?.getSourceFile().text.slice(0, node.getStart()) ?? ''
    return [...before.matchAll(/^ *\/\/ (?:feature: ([\w-]+)|end)$/gm)].at(-1)?.[1]
  }

  #typeOfSymbol(symbol: Named): Type {
    const type = this.#checker.getTypeOfSymbol(symbol)
    if (type === undefined) throw new Error(`${symbol.name} has no type`)
    return this.#checker.getNonNullableType(type) ?? type
  }

  /** Returns the names of the fields. Empty for a value that is not options, such as a source of bytes. */
  #optionNames(type: Type, areNested: boolean): string[] {
    const parts = (type.isUnionType() ? type.getTypes() : [type]).filter(part => part.getSymbol()?.name !== 'Date')
    if (!parts.every(part => this.#isOptions(part))) return []
    return [...new Set(parts.flatMap(part => this.#names(part, areNested)))].toSorted()
  }

  /** Returns the names of the fields. With `areNested`, those of options in the options follow as paths. */
  #names(type: Type, areNested = false): string[] {
    const names = this.#checker.getPropertiesOfType(type).flatMap(field => {
      const inner = areNested ? this.#optionNames(this.#typeOfSymbol(field), false) : []
      return [field.name, ...inner.map(name => `${field.name}.${name}`)]
    })
    return names.toSorted()
  }

  /** True for an object of named fields that the project declares. */
  #isOptions(type: Type): boolean {
    const fields = this.#checker.getPropertiesOfType(type)
    const isOwn = (path: string): boolean => SOURCES.some(directory => path.startsWith(directory))
    return (
      !THINGS.has(type.getSymbol()?.name ?? '') &&
      (type.isObjectType() || type.isIntersectionType()) &&
      fields.length > 0 &&
      fields.every(({ declarations }) => declarations.every(({ path }) => isOwn(path)))
    )
  }
}

/** Returns lines with the marks of the feature that removes them. */
function marked(lines: string, feature: string | undefined): string {
  return feature === undefined ? lines : `${indentOf(lines)}// feature: ${feature}\n${lines}${indentOf(lines)}// end\n`
}

function indentOf(lines: string): string {
  return lines.slice(0, lines.search(/\S/))
}

/** Returns a property of names, as the formatter would. */
function property(name: string, names: readonly string[]): string {
  const line = `  ${name} '${names.join(' ')}',\n`
  return line.length <= LINE_WIDTH + 1 ? line : line.replace("': '", "':\n    '")
}

const isCheck = process.argv.includes('--check')
const paths = update(isCheck)
for (const path of paths) process.stdout.write(`${path}\n`)
if (isCheck && paths.length > 0) process.exitCode = 1
