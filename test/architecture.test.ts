import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseAst } from 'vite'
import { describe, expect, test } from 'vitest'
import { VERSION } from '../src/domain/version.ts'

const ROOT = join(import.meta.dirname, '..')

/** Layers from the highest to the lowest. Imports go down, or stay in their folder. */
const LAYERS = [
  'adapters',
  'src/testing',
  'src/index.ts',
  'src/engine.ts',
  ...[
    'src/wiring',
    'src/api.ts',
    'src/nodes',
    'src/catalogue/index.ts',
    'src/features',
    'src/contract',
    'src/gateway',
    'src/http',
    'src/backup',
    'src/upkeep',
    'src/pins',
    'src/clusters',
    'src/access',
  ],
  ...[
    'src/content',
    'src/network',
    'src/outgoing',
    'src/catalogue',
    'src/jobs',
    'src/ledger',
    'src/storage',
    'src/disk',
  ],
  ...['src/config', 'src/ipld', 'src/concurrency', 'src/domain'],
]

/** Rooms of the gateway from the highest to the lowest. A room imports only lower ones. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  'src/gateway': ['gateway.ts', 'site', 'reader', 'representations', 'pages', 'source', 'policy', 'http'],
  'adapters/postgres': [
    ...['index.ts', 'postgres-system.ts', 'check-open.ts', 'shared-database.ts', 'postgres-content.ts'],
    ...['move-in.ts', 'moved-rows.ts', 'postgres-census.ts', 'postgres-takedowns.ts'],
    ...['fleet', 'moves', 'copies', 'records', 'holds', 'lists', 'outages', 'schema', 'access', 'nodes', 'database'],
  ],
}

/** Packages that only one folder may import. */
const RESERVED: ReadonlyArray<[packages: RegExp, allowed: string]> = [
  [/^tsyringe$|^reflect-metadata(\/|$)/, 'src/wiring/'],
  [/^better-sqlite3$/, 'src/storage/'],
  [/^pg$/, 'adapters/postgres/'],
  [/^openid-client$/, 'adapters/oidc/'],
  [/^@opentelemetry\//, 'adapters/opentelemetry/'],
  [/^(helia|libp2p|@libp2p\/.*|@helia\/(?!unixfs).*)(\/|$)/, 'src/network/'],
  [/^(node:)?(http|https|http2|tls|dgram)$/, 'adapters/node-http/'],
  [/^fastify$|^fastify-plugin$/, 'adapters/fastify/'],
  [/^pino$/, 'adapters/'],
]

/** Packages that decode CIDs, base36, base58 or addresses in quadratic time or without a limit of length. */
const DECODERS =
  /^(multiformats\/(basics|bases\/base(10|36|58|256emoji))|uint8arrays\/.*|@libp2p\/peer-id|@multiformats\/multiaddr|@ipld\/dag-json)$/
const DECODING: Readonly<Record<string, readonly string[]>> = {
  CID: ['parse', 'decode', 'decodeFirst', 'inspectBytes', 'asCID'],
  dagCbor: ['decode'],
  dagPb: ['decode'],
  dagJson: ['decode', 'parse'],
}

/** Files that may decode by themselves, with the reason. */
const DECODES: Readonly<Record<string, string>> = {
  'src/ipld/cid.ts': 'it checks the length of CIDs',
  'src/network/addresses.ts': 'it checks the length of addresses',
  'src/network/helia-node.ts': 'it passes the codec to Helia',
  'adapters/cli/export-file.ts': 'the block has 16 KiB at most, and its links are not shown',
}

/** Adapters of systems that keep clusters, and their shared code. */
const BACKENDS = ['adapters/remote', ...globSync('adapters/*/options.ts', { cwd: ROOT }).map(path => dirname(path))]

/**
 * Modules that the PostgreSQL adapter may import: the catalogue's port and rules, the ledger's interface to it, and
 * values.
 */
const CATALOGUE_PORT =
  /^src\/(catalogue\/(?!sqlite\/)|ledger\/(catalogue-holds|possessor|whole-dag)\.ts$|ipld\/|domain\/)/

/** Modules that the fleet adapter may import: its port, the HTTP layer, and code that reads blocks. */
const FLEET_PORT =
  /^src\/((nodes|contract|http|clusters|content|outgoing|ipld|concurrency|domain)\/|gateway\/source\/request-blocks\.ts$)/

const LONGEST_FILE = 300

/** The only files with real time and chance, with the reason. All others have a `Clock`. */
const REAL_TIME: Readonly<Record<string, string>> = {
  'src/domain/clock.ts': 'the clock of the system',
  'src/concurrency/turns.ts': 'turns of the loop',
  'src/disk/data-directory.ts': 'the end of another process',
  'adapters/node-http/loop-time.ts': 'watches of loops and threads',
  'adapters/node-http/incoming-body.ts': 'timeouts of HTTP',
  'adapters/oidc/bounded-fetch.ts': 'timeouts of HTTP of a library, which compares tokens with the time of the system',
  'adapters/client/idle-timer.ts': 'the client',
  'adapters/cli/real-time.ts': 'the command line',
}

/** File names that may occur several times, with the reason. */
const SHARED_FILE_NAMES: Readonly<Record<string, string>> = {
  'index.ts': 'the entry of a package',
  'main.ts': 'the start of a program: the command line, the page of the console',
  'definition.ts': 'the form of an adapter of clusters: its configuration',
  'declaration.ts': 'the form of a feature: what is known of it without its module',
  'options.ts': 'the form of an adapter of clusters: its types for an embedder',
  'schema-0-4-0.ts': 'the migration of version 0.4.0: of SQLite, of PostgreSQL',
}

/** Directories of tests that mirror no source directory: suites that test the whole. */
const SYSTEM_SUITES = ['abuse', 'clients', 'fuzz', 'interop', 'package', 'pins/fetches', 'torture', 'visibility']

/** Exported names that may be declared several times, with the reason. */
const SHARED_NAMES: Readonly<Record<string, string>> = {
  ClusterRegistry: 'the public interface, and the class behind it',
  PinService: 'the public interface, and the class behind it',
  RenameRequest: 'public in holdfast and, without an engine’s checks, in holdfast/catalogue',
  holdfast: 'the adapter of holdfast/fastify, and that of holdfast/holdfast',
  migrations: 'the two drivers of the catalogue',
  changes040Schema: 'the two drivers of the catalogue',
  placementsSeenSchema: 'the two drivers of the catalogue',
  webhooksSchema: 'the two drivers of the catalogue',
}

interface Import {
  specifier: string
  /** True if the import has only types, so that nothing of it is left at run time. */
  isType: boolean
  line: number
}

interface SourceFile {
  /** Path relative to the repository, with `/`. */
  path: string
  text: string
  imports: Import[]
  /** Language constructs that a rule may forbid, with their lines. */
  found: Array<{ what: string; line: number }>
}

type AstNode = { type: string; start: number; [key: string]: unknown }

const files = ['src', 'adapters'].flatMap(sourceFiles)

function sourceFiles(folder: string): SourceFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => relative(ROOT, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort()
    .map(path => readSource(path, readFileSync(join(ROOT, path), 'utf8')))
}

function readSource(path: string, text: string): SourceFile {
  const file: SourceFile = { path, text, imports: [], found: [] }
  const lineOf = (node: AstNode): number => text.slice(0, node.start).split('\n').length
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) {
      for (const item of value) visit(item)
    } else if (isNode(value)) {
      note(value)
      for (const child of Object.values(value)) visit(child)
    }
  }
  const note = (node: AstNode): void => {
    const specifier = specifierOf(node)
    if (specifier !== null) file.imports.push({ specifier, isType: isTypeOnly(node), line: lineOf(node) })
    const what = whatIs(node)
    if (what !== null) file.found.push({ what, line: lineOf(node) })
  }
  visit(parseAst(text, { lang: 'ts' }))
  return file
}

function isNode(value: unknown): value is AstNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

function nameOf(node: unknown): string {
  return isNode(node) ? String(node.name ?? node.value) : ''
}

function specifierOf(node: AstNode): string | null {
  const holders = [
    'ImportDeclaration',
    'ExportNamedDeclaration',
    'ExportAllDeclaration',
    'ImportExpression',
    'TSImportType',
  ]
  if (!holders.includes(node.type)) return null
  const source = node.source ?? node.argument
  if (source === null || source === undefined) return null
  return isNode(source) && typeof source.value === 'string' ? source.value : '(computed)'
}

/** Returns true for `import type`, and for an import of types only. */
function isTypeOnly(node: AstNode): boolean {
  const names = Array.isArray(node.specifiers) ? node.specifiers : []
  const isType = (name: unknown): boolean => isNode(name) && (name.importKind === 'type' || name.exportKind === 'type')
  if (node.type === 'TSImportType' || node.importKind === 'type' || node.exportKind === 'type') return true
  return names.length > 0 && names.every(isType)
}

/** Returns the name of a construct that a rule forbids somewhere, or null. */
function whatIs(node: AstNode): string | null {
  if (node.type === 'TSAnyKeyword') return 'any'
  if (node.type === 'TSEnumDeclaration') return 'enum'
  if (node.type === 'TSModuleDeclaration') return 'namespace'
  if (node.type === 'TSParameterProperty') return 'parameter property'
  if (node.type === 'TSNonNullExpression') return 'non-null assertion'
  if (node.type === 'ImportExpression') return 'import()'
  if (node.type === 'SpreadElement' && isNode(node.argument) && /^(Object|Array)Expression$/.test(node.argument.type))
    return 'packing'
  const clock = clockOf(node)
  if (clock !== null) return clock
  if (node.type === 'MemberExpression' && isNode(node.object) && node.object.type === 'Identifier') {
    const name = nameOf(node.object)
    if (DECODING[name]?.includes(nameOf(node.property)) === true) return 'own decoding'
    if (name === 'process' || name === 'console') return `${name}.`
  }
  return null
}

/** Returns `own clock` for code that reads the time or waits without the injected clock. */
function clockOf(node: AstNode): string | null {
  if (node.type === 'NewExpression' && nameOf(node.callee) === 'Date' && isEmpty(node.arguments)) return 'own clock'
  if (node.type !== 'CallExpression' || !isNode(node.callee)) return null
  const { callee } = node
  const name =
    callee.type === 'MemberExpression' ? `${nameOf(callee.object)}.${nameOf(callee.property)}` : nameOf(callee)
  const clocks = ['setTimeout', 'setInterval', 'Date.now', 'performance.now', 'Math.random', 'AbortSignal.timeout']
  return clocks.includes(name) ? 'own clock' : null
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

function layerOf(path: string, layers: readonly string[] = LAYERS): number {
  return layers.findIndex(layer => path === layer || path.startsWith(`${layer}/`))
}

/** Returns the file of a relative import, or null for a package. */
function targetOf(file: SourceFile, specifier: string): string | null {
  return specifier.startsWith('.') ? join(dirname(file.path), specifier).replaceAll('\\', '/') : null
}

/** Files above the core that may import types of a feature: the public surface, and what hands it out. */
const SURFACE = ['index', 'api', 'engine', 'features/feature', 'wiring/bulk-calls']

/** Returns why a file may not import another, if that is of a feature; null if it may. */
/** Returns whether the client takes the type of an answer from its schema. The build writes it into the declarations. */
function isAnswerType(path: string, target: string, isType: boolean): boolean {
  return isType && path.startsWith('adapters/client/') && /^src\/(contract|features)\//.test(target)
}

function foreignFeature(path: string, target: string, isType = false): string | null {
  if (isAnswerType(path, target, isType)) return null
  const roomOf = (of: string): string | undefined => /^src\/features\/([^/]+)\//.exec(of)?.[1]
  const isListed =
    ['features/feature-list', 'features/gateway-list', 'catalogue/index'].some(name => path === `src/${name}.ts`) ||
    (isType && SURFACE.some(name => path === `src/${name}.ts`))
  const isOwn = roomOf(target) === undefined || roomOf(path) === roomOf(target)
  return isListed || isOwn ? null : `imports ${target}, of another room`
}

function importsWhere(
  isWrong: (file: SourceFile, specifier: string, target: string | null, isType: boolean) => string | null,
): string[] {
  return files.flatMap(file =>
    file.imports.flatMap(({ specifier, isType, line }) => {
      const reason = isWrong(file, specifier, targetOf(file, specifier), isType)
      return reason === null ? [] : [`${file.path}:${line} ${reason}`]
    }),
  )
}

function findings(unwanted: (what: string, file: SourceFile) => boolean): string[] {
  return files.flatMap(file =>
    file.found.filter(({ what }) => unwanted(what, file)).map(({ what, line }) => `${file.path}:${line} has ${what}`),
  )
}

/** Returns each cycle of imports once. */
function cycles(): string[] {
  const graph = new Map(
    files.map(file => [file.path, file.imports.flatMap(({ specifier }) => targetOf(file, specifier) ?? [])]),
  )
  const done = new Set<string>()
  const found: string[] = []
  const visit = (path: string, way: string[]): void => {
    const at = way.indexOf(path)
    if (at !== -1) found.push([...way.slice(at), path].join(' > '))
    if (at !== -1 || done.has(path)) return
    for (const next of graph.get(path) ?? []) visit(next, [...way, path])
    done.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  return found
}

describe('architecture', () => {
  test('the sources are found', () => {
    expect(files.length).toBeGreaterThan(80)
    expect(files.flatMap(file => file.imports).length).toBeGreaterThan(300)
  })

  test('every file belongs to a layer', () => {
    expect(files.filter(file => layerOf(file.path) === -1).map(file => file.path)).toEqual([])
  })

  test('docs/architecture.md names every layer, in order', () => {
    const rows = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8').matchAll(/^\| `((?:src|adapters)[^`]*)` \|/gm)
    expect([...rows].map(([, layer = '']) => layer.replace(/\/$/, ''))).toEqual(LAYERS)
  })

  test('imports go down the layers or stay in their folder', () => {
    const wrong = importsWhere((file, _, target) => {
      if (target === null) return null
      const [from, to] = [layerOf(file.path), layerOf(target)]
      return to < from ? `imports ${target}, which is above it` : null
    })
    expect(wrong).toEqual([])
  })

  test('a feature imports no other feature, and only the lists import one', () => {
    const wrong = importsWhere((file, _, target, isType) =>
      target === null ? null : foreignFeature(file.path, target, isType),
    )
    expect(wrong).toEqual([])
    const webhooks = 'src/features/webhooks/webhook-service.ts'
    for (const path of [
      'src/pins/pin-service.ts',
      'src/wiring/http.ts',
      'src/api.ts',
      'src/features/audit/audit-log.ts',
    ]) {
      expect(foreignFeature(path, webhooks)).toBe(`imports ${webhooks}, of another room`)
    }
  })

  test.each(Object.entries(ROOMS))('rooms of %s import only lower rooms', (folder, names) => {
    const rooms = names.map(name => `${folder}/${name}`)
    const inside = files.filter(file => file.path.startsWith(`${folder}/`))
    expect(inside.filter(file => layerOf(file.path, rooms) === -1).map(file => file.path)).toEqual([])
    const wrong = importsWhere((file, _, target) => {
      if (target?.startsWith(`${folder}/`) !== true || !inside.includes(file)) return null
      return layerOf(target, rooms) < layerOf(file.path, rooms) ? `imports ${target}, which is above it` : null
    })
    expect(wrong).toEqual([])
  })

  test('adapters import src and shared adapters only by their public modules', () => {
    const adapterOf = (path: string): string => path.split('/').slice(0, 2).join('/')
    const names = [
      'byte-text',
      'chosen-secret',
      'clock',
      'errors',
      'file-attributes',
      'form-names',
      'host-name',
      'known-fields',
      'listen-addresses',
      'near-names',
      'pending-nodes',
      'plan',
      'public-notice',
      'sources',
      'version',
      'web-stream',
    ].map(name => `domain/${name}`)
    const light = [
      ...names,
      'ipld/cid',
      'concurrency/turns',
      'concurrency/work',
      'wiring/loaded-handlers',
      'wiring/outage-reading',
      'backup/newest-backup',
    ].map(name => `src/${name}.ts`)
    const indexes = ['node-http', 'client', 'console', 'fetch', 'opentelemetry'].map(
      name => `adapters/${name}/index.ts`,
    )
    const shared = ['src/index.ts', 'src/wiring/reading.ts', 'adapters/remote/secrets.ts', ...light, ...indexes]
    const wrong = importsWhere((file, _, target, isType) => {
      if (target === null || !file.path.startsWith('adapters/') || shared.includes(target)) return null
      if (isAnswerType(file.path, target, isType)) return null
      if ([...BACKENDS, 'adapters/postgres', 'adapters/fleet'].includes(adapterOf(file.path))) return null
      if (file.path === 'adapters/cli/server-adapters.ts' && target.endsWith('/index.ts')) return null
      return adapterOf(target) === adapterOf(file.path) ? null : `imports ${target}`
    })
    expect(wrong).toEqual([])
  })

  test('adapters of clusters import only the port, its helpers and shared code', () => {
    const below = ['clusters', 'config', 'content', 'outgoing', 'ipld', 'concurrency', 'domain'].map(
      room => `src/${room}/`,
    )
    const wrong = importsWhere((file, _, target) => {
      const adapter = BACKENDS.find(path => file.path.startsWith(`${path}/`))
      if (adapter === undefined || target === null) return null
      const known = [`${adapter}/`, 'adapters/remote/', ...below]
      return known.some(path => target.startsWith(path)) ? null : `imports ${target}`
    })
    expect(wrong).toEqual([])
  })

  test('the PostgreSQL adapter imports only its port, and loads lazily', () => {
    const own = files.filter(({ path }) => path.startsWith('adapters/postgres/'))
    const wrong = importsWhere((file, _, target) => {
      if (!own.includes(file) || target === null || target.startsWith('adapters/postgres/')) return null
      if (target === 'adapters/fleet/fleet-member.ts' && file.path === 'adapters/postgres/shared-database.ts')
        return null
      return CATALOGUE_PORT.test(target) ? null : `imports ${target}`
    })
    const index = own.find(({ path }) => path === 'adapters/postgres/index.ts')
    const atOnce = index?.text.match(/^(import|export)\b(?! (type|const)\b).*$/m)
    expect([own.length > 40, wrong, atOnce]).toEqual([true, [], null])
  })

  test('the fleet adapter imports only its port, and loads lazily', () => {
    const wrong = importsWhere((file, _, target) => {
      if (!file.path.startsWith('adapters/fleet/') || target === null || target.startsWith('adapters/fleet/'))
        return null
      return FLEET_PORT.test(target) ? null : `imports ${target}`
    })
    const database = files.find(({ path }) => path === 'adapters/postgres/shared-database.ts')
    expect([wrong, database?.text.match(/^import .*fleet-member.*$/m)]).toEqual([[], null])
  })

  test('src imports no adapter, so that unused ones are not loaded', () => {
    const wrong = importsWhere((file, _, target) =>
      file.path.startsWith('src/') && target?.startsWith('adapters/') === true ? `imports ${target}` : null,
    )
    expect(wrong).toEqual([])
  })

  test('a reader thread loads neither the engine nor its API', () => {
    const entry = 'adapters/node-http/reader-thread.ts'
    const loaded = new Set([entry])
    for (const path of loaded) {
      const file = files.find(known => known.path === path)
      for (const { specifier, isType } of file?.imports ?? []) {
        const target = file === undefined || isType ? null : targetOf(file, specifier)
        if (target !== null) loaded.add(target)
      }
    }
    expect(loaded).toContain('src/gateway/gateway.ts')
    expect(
      [...loaded].filter(path => /^src\/(index|engine|api)\.ts$|^src\/(contract|pins|access)\//.test(path)),
    ).toEqual([])
  })

  test('the client has nothing that only Node provides', () => {
    const own = files.filter(({ path }) => path.startsWith('adapters/client/'))
    const wrong = importsWhere((file, specifier, target, isType) => {
      if (
        !own.includes(file) ||
        (isType && specifier === 'typebox') ||
        isAnswerType(file.path, target ?? '', isType) ||
        /^src\/domain\/(byte-text|errors|file-attributes|form-names|known-fields|pending-nodes|web-stream)\.ts$/.test(
          target ?? '',
        )
      )
        return null
      return target?.startsWith('adapters/client/') === true ? null : `imports ${specifier}`
    })
    const withoutExamples = (text: string): string => text.replace(/^ +\* @example .*$/gm, '')
    const isBound = (text: string): boolean => /\bBuffer\b|\bprocess\.|\bconsole\./.test(withoutExamples(text))
    const bound = own.filter(({ text }) => isBound(text)).map(({ path }) => path)
    expect([own.length > 5, wrong, bound]).toEqual([true, [], []])
  })

  test('every file name is unique', () => {
    const places = Object.groupBy(files, ({ path }) => path.slice(path.lastIndexOf('/') + 1))
    const shared = Object.entries(places).filter(([, found = []]) => found.length > 1)
    expect(shared.map(([name]) => name).toSorted()).toEqual(Object.keys(SHARED_FILE_NAMES).toSorted())
  })

  test('every exported name is declared once', () => {
    // The client names the API's answers as its users call them.
    const declaring = files.filter(({ path }) => !path.startsWith('adapters/client/'))
    const places = new Map<string, Set<string>>()
    for (const { path, text } of declaring) {
      for (const [, name = ''] of text.matchAll(
        /^export (?:async )?(?:const|function\*?|class|interface|type) (\w+)/gm,
      )) {
        places.set(name, new Set([...(places.get(name) ?? []), path]))
      }
    }
    const shared = [...places].filter(([, found]) => found.size > 1).map(([name]) => name)
    expect(shared.toSorted()).toEqual(Object.keys(SHARED_NAMES).toSorted())
  })

  test('relative imports name an existing file', () => {
    const known = new Set(files.map(file => file.path))
    const wrong = importsWhere((_, specifier, target) => {
      if (specifier === '(computed)') return 'imports what is known only when it runs'
      return target === null || known.has(target) ? null : `imports ${target}, which is not there`
    })
    expect(wrong).toEqual([])
  })

  test('no imports form a cycle', () => {
    expect(cycles()).toEqual([])
  })

  test('in src, only the lists of loaders and features import files later', () => {
    // The last loads a package.
    const lists = ['src/wiring/loaders.ts', 'src/wiring/module-loaders.ts', 'src/features/feature-list.ts']
    const allowed = [...lists, 'src/outgoing/http-agent.ts']
    const wrong = findings(
      (what, file) => what === 'import()' && file.path.startsWith('src/') && !allowed.includes(file.path),
    )
    expect(wrong).toEqual([])
  })

  test('reserved packages are imported only in their own folders', () => {
    const wrong = importsWhere((file, specifier) => {
      const rule = RESERVED.find(([packages]) => packages.test(specifier))
      return rule === undefined || file.path.startsWith(rule[1]) ? null : `imports ${specifier}; only ${rule[1]} may`
    })
    expect(wrong).toEqual([])
  })

  test('only files that check the length first decode CIDs and addresses', () => {
    const called = findings((what, file) => what === 'own decoding' && DECODES[file.path] === undefined)
    const imported = files
      .filter(({ path }) => DECODES[path] === undefined)
      .flatMap(({ path, imports }) =>
        imports
          .filter(({ specifier, isType }) => !isType && DECODERS.test(specifier))
          .map(({ specifier, line }) => `${path}:${line} imports ${specifier}`),
      )
    const renamed = files
      .filter(({ text }) =>
        /^import (?!type).*(CID as \w|\* as \w+ from 'multiformats\/cid'|CID\b.* from 'multiformats')/m.test(text),
      )
      .map(({ path }) => `${path} has another name for CID`)
    expect([...called, ...imported, ...renamed]).toEqual([])
    const idle = Object.keys(DECODES).filter(path => !files.some(file => file.path === path))
    expect(idle).toEqual([])
  })

  test('only catalogue/sqlite, ledger, storage and wiring know SQLite tables', () => {
    const knowing = [
      'src/catalogue/sqlite/',
      'src/ledger/',
      'src/storage/',
      'src/wiring/',
      'src/engine.ts',
      'src/index.ts',
      'src/testing/',
    ]
    const wrong = importsWhere((file, _, target) => {
      if (target === null || knowing.some(path => file.path.startsWith(path))) return null
      // A directory lock uses SQLite, but no tables.
      if (target === 'src/storage/directory-lock.ts') return null
      return /^src\/(catalogue\/sqlite|storage)\/|-table\.ts$/.test(target) ? `imports ${target}` : null
    })
    expect(wrong).toEqual([])
  })

  test('src uses neither process nor console', () => {
    const wrong = findings((what, file) => file.path.startsWith('src/') && /^(process|console)\.$/.test(what))
    const imported = importsWhere((file, specifier) =>
      file.path.startsWith('src/') && /^(node:)?(process|console)$/.test(specifier) ? `imports ${specifier}` : null,
    )
    expect([...wrong, ...imported]).toEqual([])
  })

  test('time and chance are injected', () => {
    const using = new Set<string>()
    const wrong = findings((what, file) => {
      if (what !== 'own clock' || file.path.startsWith('adapters/console/page/')) return false
      using.add(file.path)
      return REAL_TIME[file.path] === undefined
    })
    expect(wrong).toEqual([])
    expect([...using].toSorted()).toEqual(Object.keys(REAL_TIME).toSorted())
  })

  test('the sources have no any and no TypeScript syntax beyond types', () => {
    const wrong = findings(what => !/^(process|console)\.$|^own (clock|decoding)$|^import\(\)$/.test(what))
    const silenced = files
      .filter(file => /@ts-(ignore|nocheck|expect-error)/.test(file.text))
      .map(file => `${file.path} silences the compiler`)
    expect([...wrong, ...silenced]).toEqual([])
  })

  test('files are short and named in kebab case', () => {
    const long = files
      .map(file => ({ path: file.path, lines: file.text.trimEnd().split('\n').length }))
      .filter(({ lines }) => lines > LONGEST_FILE)
      .map(({ path, lines }) => `${path} has ${lines} lines`)
    const misnamed = files
      .filter(file => !/^([a-z0-9]+(-[a-z0-9]+)*\/)*[a-z0-9]+(-[a-z0-9]+)*\.ts$/.test(file.path))
      .map(file => `${file.path} is not kebab-case`)
    expect([...long, ...misnamed]).toEqual([])
  })

  test('test directories mirror source directories, or are listed suites', () => {
    const unknown = readdirSync(join(ROOT, 'test'), { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => relative(join(ROOT, 'test'), entry.parentPath).replaceAll('\\', '/'))
      // Helpers and fixtures may stand in directories of their own.
      .filter(path => !/(^|\/)(support|fixtures)(\/|$)/.test(path))
      .filter(path => !SYSTEM_SUITES.some(suite => path === suite || path.startsWith(`${suite}/`)))
      .filter(path => !['src/', ''].some(top => existsSync(join(ROOT, top, path))))
    expect([...new Set(unknown)]).toEqual([])
  })

  test('a skipped test gives its reason', () => {
    const silent = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
      .filter(path => path.endsWith('.ts') && path !== join('support', 'needs.ts'))
      .filter(path =>
        /\.(skipIf|runIf|skip|todo)\b\(|\bskip: true/.test(readFileSync(join(ROOT, 'test', path), 'utf8')),
      )
    expect(silent).toEqual([])
  })

  test('only tests of the whole stand directly in test/', () => {
    const whole = ['api', 'architecture', 'linear-text', 'promises', 'stopped-engine'].map(name => `${name}.test.ts`)
    const tests = readdirSync(join(ROOT, 'test')).filter(name => name.endsWith('.test.ts'))
    expect(tests.filter(name => !whole.includes(name))).toEqual([])
  })

  test('VERSION equals the version of the package', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
    expect(VERSION).toBe(version)
  })
})
