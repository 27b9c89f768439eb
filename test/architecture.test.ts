import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseAst } from 'vite'
import { describe, expect, test } from 'vitest'
import { VERSION } from '../src/domain/version.ts'

const ROOT = join(import.meta.dirname, '..')

/** From the highest to the lowest: imports go down, or stay in their folder. */
const LAYERS = [
  'adapters',
  'src/index.ts',
  'src/engine.ts',
  ...[
    'src/wiring',
    'src/api.ts',
    'src/nodes',
    'src/contract',
    'src/gateway',
    'src/http',
    'src/backup',
    'src/upkeep',
    'src/webhooks',
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

/** The rooms of the gateway, from the highest to the lowest: what is not below a room, it does not know. */
const ROOMS = ['gateway.ts', 'site', 'reader', 'representations', 'pages', 'source', 'policy', 'http'].map(
  room => `src/gateway/${room}`,
)

/** What only these places may import. */
const RESERVED: ReadonlyArray<[packages: RegExp, allowed: string]> = [
  [/^tsyringe$|^reflect-metadata(\/|$)/, 'src/wiring/'],
  [/^better-sqlite3$/, 'src/storage/'],
  [/^pg$/, 'adapters/postgres/'],
  [/^(helia|libp2p|@libp2p\/.*|@helia\/(?!unixfs).*)(\/|$)/, 'src/network/'],
  [/^(node:)?(http|https|http2|tls|dgram)$/, 'adapters/node-http/'],
  [/^fastify$|^fastify-plugin$/, 'adapters/fastify/'],
  [/^pino$/, 'adapters/'],
]

/** What decodes CIDs, base36, base58 and addresses: in quadratic time, or whatever their length. */
const DECODERS =
  /^(multiformats\/(basics|bases\/base(10|36|58|256emoji))|uint8arrays\/.*|@libp2p\/peer-id|@multiformats\/multiaddr|@ipld\/dag-json)$/
const DECODING: Readonly<Record<string, readonly string[]>> = {
  CID: ['parse', 'decode', 'decodeFirst', 'inspectBytes', 'asCID'],
  dagCbor: ['decode'],
  dagPb: ['decode'],
  dagJson: ['decode', 'parse'],
}

/** Where that may stand, with the reason. */
const DECODES: Readonly<Record<string, string>> = {
  'src/ipld/cid.ts': 'it checks the length of CIDs',
  'src/network/addresses.ts': 'it checks the length of addresses',
  'src/network/helia-node.ts': 'it only gives Helia the codec',
  'adapters/cli/export-file.ts': 'the block has 16 KiB at most, and its links are not shown',
}

/** Adapters of systems that keep clusters, and what these share. */
const BACKENDS = ['adapters/remote', ...globSync('adapters/*/definition.ts', { cwd: ROOT }).map(path => dirname(path))]

/** Modules that the adapter of PostgreSQL knows: the catalogue's port and rules, the ledger that it tells, and values. */
const CATALOGUE_PORT = /^src\/(catalogue\/(?!sqlite\/)|ledger\/(catalogue-holds|whole-dag)\.ts$|ipld\/|domain\/)/

/** Modules that the adapter of a fleet knows: its port, the border, and what reads blocks. */
const FLEET_PORT =
  /^src\/((nodes|contract|http|clusters|content|outgoing|ipld|concurrency|domain)\/|gateway\/source\/request-blocks\.ts$)/

const LONGEST_FILE = 300

/** File names that occur several times, with the reason. */
const SHARED_FILE_NAMES: Readonly<Record<string, string>> = {
  'index.ts': 'the entry of a package',
  'main.ts': 'the start of a program: the command line, the page of the console',
  'definition.ts': 'the form of an adapter of clusters: its configuration',
  'options.ts': 'the form of an adapter of clusters: its types for an embedder',
}

/** Directories of tests that mirror no directory of sources, but test the whole in one way. */
const SYSTEM_SUITES = ['abuse', 'clients', 'fuzz', 'interop', 'package', 'pins/fetches', 'torture']

/** Exported names that occur several times, with the reason. */
const SHARED_NAMES: Readonly<Record<string, string>> = {
  ClusterRegistry: 'the public interface, and the class behind it',
  PinService: 'the public interface, and the class behind it',
  RenameRequest: 'public in holdfast and, without an engine’s checks, in holdfast/catalogue',
  holdfast: 'the adapter of holdfast/fastify, and that of holdfast/holdfast',
  RECORD_COLUMNS: 'the two drivers of the catalogue',
  migrations: 'the two drivers of the catalogue',
  placementsSeenSchema: 'the two drivers of the catalogue',
  webhooksSchema: 'the two drivers of the catalogue',
}

interface Import {
  specifier: string
  /** Whether nothing of it is left when it runs. */
  isType: boolean
  line: number
}

interface SourceFile {
  /** Relative to the repository, with `/`. */
  path: string
  text: string
  imports: Import[]
  /** Names of nodes and things that the rules speak of, with their lines. */
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

/** `import type`, and imports of nothing but types. */
function isTypeOnly(node: AstNode): boolean {
  const names = Array.isArray(node.specifiers) ? node.specifiers : []
  const isType = (name: unknown): boolean => isNode(name) && (name.importKind === 'type' || name.exportKind === 'type')
  if (node.type === 'TSImportType' || node.importKind === 'type' || node.exportKind === 'type') return true
  return names.length > 0 && names.every(isType)
}

/** The name of a thing that the house rules forbid somewhere. */
function whatIs(node: AstNode): string | null {
  if (node.type === 'TSAnyKeyword') return 'any'
  if (node.type === 'TSEnumDeclaration') return 'enum'
  if (node.type === 'TSModuleDeclaration') return 'namespace'
  if (node.type === 'TSParameterProperty') return 'parameter property'
  if (node.type === 'TSNonNullExpression') return 'non-null assertion'
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

/** What reads the time or waits by itself, past the clock that tests move. */
function clockOf(node: AstNode): string | null {
  if (node.type === 'NewExpression' && nameOf(node.callee) === 'Date' && isEmpty(node.arguments)) return 'own clock'
  if (node.type !== 'CallExpression' || !isNode(node.callee)) return null
  const { callee } = node
  const name =
    callee.type === 'MemberExpression' ? `${nameOf(callee.object)}.${nameOf(callee.property)}` : nameOf(callee)
  const clocks = ['setTimeout', 'setInterval', 'Date.now', 'Math.random', 'AbortSignal.timeout']
  return clocks.includes(name) ? 'own clock' : null
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

function layerOf(path: string, layers: readonly string[] = LAYERS): number {
  return layers.findIndex(layer => path === layer || path.startsWith(`${layer}/`))
}

/** The file that a relative import means, or null for a package. */
function targetOf(file: SourceFile, specifier: string): string | null {
  return specifier.startsWith('.') ? join(dirname(file.path), specifier).replaceAll('\\', '/') : null
}

function importsWhere(
  isWrong: (file: SourceFile, specifier: string, target: string | null) => string | null,
): string[] {
  return files.flatMap(file =>
    file.imports.flatMap(({ specifier, line }) => {
      const reason = isWrong(file, specifier, targetOf(file, specifier))
      return reason === null ? [] : [`${file.path}:${line} ${reason}`]
    }),
  )
}

function findings(unwanted: (what: string, file: SourceFile) => boolean): string[] {
  return files.flatMap(file =>
    file.found.filter(({ what }) => unwanted(what, file)).map(({ what, line }) => `${file.path}:${line} has ${what}`),
  )
}

/** Cycles among files, each told once. */
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
  test('the sources are there to be read', () => {
    expect(files.length).toBeGreaterThan(80)
    expect(files.flatMap(file => file.imports).length).toBeGreaterThan(300)
  })

  test('every file belongs to a layer', () => {
    expect(files.filter(file => layerOf(file.path) === -1).map(file => file.path)).toEqual([])
  })

  test('the document on the architecture names every layer, in order', () => {
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

  test('the rooms of the gateway know those below them only', () => {
    const inside = files.filter(file => file.path.startsWith('src/gateway/'))
    expect(inside.filter(file => layerOf(file.path, ROOMS) === -1).map(file => file.path)).toEqual([])
    const wrong = importsWhere((file, _, target) => {
      if (target?.startsWith('src/gateway/') !== true || !inside.includes(file)) return null
      return layerOf(target, ROOMS) < layerOf(file.path, ROOMS) ? `imports ${target}, which is above it` : null
    })
    expect(wrong).toEqual([])
  })

  test('adapters know src, node-http, the client and the console by their index and a few small files, and each other not at all', () => {
    const adapterOf = (path: string): string => path.split('/').slice(0, 2).join('/')
    const names = ['domain/errors', 'domain/public-notice', 'domain/version', 'ipld/cid', 'concurrency/turns']
    const light = [...names, 'concurrency/work'].map(name => `src/${name}.ts`)
    const indexes = ['node-http', 'client', 'console'].map(name => `adapters/${name}/index.ts`)
    const shared = ['src/index.ts', 'src/wiring/reading.ts', ...light, ...indexes]
    const wrong = importsWhere((file, _, target) => {
      if (target === null || !file.path.startsWith('adapters/') || shared.includes(target)) return null
      if ([...BACKENDS, 'adapters/postgres', 'adapters/fleet'].includes(adapterOf(file.path))) return null
      if (file.path === 'adapters/cli/cluster-adapters.ts' && BACKENDS.includes(adapterOf(target))) return null
      if (file.path.startsWith('adapters/cli/') && target === 'adapters/postgres/index.ts') return null
      return adapterOf(target) === adapterOf(file.path) ? null : `imports ${target}`
    })
    expect(wrong).toEqual([])
  })

  test('adapters of clusters know the port, its means and each other’s shared parts', () => {
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

  test('the adapter of PostgreSQL knows the catalogue’s port and rules, and loads with its first use', () => {
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

  test('the adapter of a fleet knows its port, and loads with the first node of one', () => {
    const wrong = importsWhere((file, _, target) => {
      if (!file.path.startsWith('adapters/fleet/') || target === null || target.startsWith('adapters/fleet/'))
        return null
      return FLEET_PORT.test(target) ? null : `imports ${target}`
    })
    const database = files.find(({ path }) => path === 'adapters/postgres/shared-database.ts')
    expect([wrong, database?.text.match(/^import .*fleet-member.*$/m)]).toEqual([[], null])
  })

  test('what is not passed to an engine is not loaded: src knows no adapter', () => {
    const wrong = importsWhere((file, _, target) =>
      file.path.startsWith('src/') && target?.startsWith('adapters/') === true ? `imports ${target}` : null,
    )
    expect(wrong).toEqual([])
  })

  test('a thread that reads loads neither the engine nor its API: each such thread would pay for them', () => {
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

  test('the client runs in browsers', () => {
    const own = files.filter(({ path }) => path.startsWith('adapters/client/'))
    const wrong = importsWhere((file, specifier, target) => {
      if (!own.includes(file) || target === 'src/domain/errors.ts') return null
      return target?.startsWith('adapters/client/') === true ? null : `imports ${specifier}`
    })
    const bound = own.filter(({ text }) => /\bBuffer\b|\bprocess\.|\bconsole\./.test(text)).map(({ path }) => path)
    expect([own.length > 5, wrong, bound]).toEqual([true, [], []])
  })

  test('every file has a name of its own', () => {
    const places = Object.groupBy(files, ({ path }) => path.slice(path.lastIndexOf('/') + 1))
    const shared = Object.entries(places).filter(([, found = []]) => found.length > 1)
    expect(shared.map(([name]) => name).toSorted()).toEqual(Object.keys(SHARED_FILE_NAMES).toSorted())
  })

  test('every exported name is declared once', () => {
    // The client names what the API answers, and imports nothing of src.
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

  test('relative imports name a file that is there', () => {
    const known = new Set(files.map(file => file.path))
    const wrong = importsWhere((_, specifier, target) => {
      if (specifier === '(computed)') return 'imports what is known only when it runs'
      return target === null || known.has(target) ? null : `imports ${target}, which is not there`
    })
    expect(wrong).toEqual([])
  })

  test('no file imports itself by a detour', () => {
    expect(cycles()).toEqual([])
  })

  test('only their own folders import what belongs to them', () => {
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

  test('SQLite and its tables are known to the catalogue’s SQLite, the ledger and the wiring', () => {
    const knowing = [
      'src/catalogue/sqlite/',
      'src/ledger/',
      'src/storage/',
      'src/wiring/',
      'src/engine.ts',
      'src/index.ts',
    ]
    const wrong = importsWhere((file, _, target) => {
      if (target === null || knowing.some(path => file.path.startsWith(path))) return null
      // A lock has no tables.
      if (target === 'src/storage/directory-lock.ts') return null
      return /^src\/(catalogue\/sqlite|storage)\/|-table\.ts$/.test(target) ? `imports ${target}` : null
    })
    expect(wrong).toEqual([])
  })

  test('inside src nothing knows a process or a console', () => {
    const wrong = findings((what, file) => file.path.startsWith('src/') && /^(process|console)\.$/.test(what))
    const imported = importsWhere((file, specifier) =>
      file.path.startsWith('src/') && /^(node:)?(process|console)$/.test(specifier) ? `imports ${specifier}` : null,
    )
    expect([...wrong, ...imported]).toEqual([])
  })

  test('time and chance come in through ports', () => {
    // The wait for a dying process is real, whatever clock the engine is given.
    const allowed = ['src/domain/clock.ts', 'src/disk/data-directory.ts']
    const wrong = findings(
      (what, file) => what === 'own clock' && file.path.startsWith('src/') && !allowed.includes(file.path),
    )
    expect(wrong).toEqual([])
  })

  test('types are not switched off, and only types are stripped', () => {
    const wrong = findings(what => !/^(process|console)\.$|^own (clock|decoding)$/.test(what))
    const silenced = files
      .filter(file => /@ts-(ignore|nocheck|expect-error)/.test(file.text))
      .map(file => `${file.path} silences the compiler`)
    expect([...wrong, ...silenced]).toEqual([])
  })

  test('files are short and named as kebab-case nouns', () => {
    const long = files
      .map(file => ({ path: file.path, lines: file.text.trimEnd().split('\n').length }))
      .filter(({ lines }) => lines > LONGEST_FILE)
      .map(({ path, lines }) => `${path} has ${lines} lines`)
    const misnamed = files
      .filter(file => !/^([a-z0-9]+(-[a-z0-9]+)*\/)*[a-z0-9]+(-[a-z0-9]+)*\.ts$/.test(file.path))
      .map(file => `${file.path} is not kebab-case`)
    expect([...long, ...misnamed]).toEqual([])
  })

  test('directories of tests mirror those of the sources, or are suites with a name', () => {
    const unknown = readdirSync(join(ROOT, 'test'), { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => relative(join(ROOT, 'test'), entry.parentPath).replaceAll('\\', '/'))
      // What a directory of tests needs stands below it.
      .filter(path => !/(^|\/)(support|fixtures)(\/|$)/.test(path))
      .filter(path => !SYSTEM_SUITES.some(suite => path === suite || path.startsWith(`${suite}/`)))
      .filter(path => !['src/', ''].some(top => existsSync(join(ROOT, top, path))))
    expect([...new Set(unknown)]).toEqual([])
  })

  test('a test that is not run says why', () => {
    const silent = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
      .filter(path => path.endsWith('.ts') && path !== join('support', 'needs.ts'))
      .filter(path =>
        /\.(skipIf|runIf|skip|todo)\b\(|\bskip: true/.test(readFileSync(join(ROOT, 'test', path), 'utf8')),
      )
    expect(silent).toEqual([])
  })

  test('only tests of the whole stand outside the directories', () => {
    const whole = ['api', 'architecture', 'linear-text', 'promises', 'stopped-engine'].map(name => `${name}.test.ts`)
    const tests = readdirSync(join(ROOT, 'test')).filter(name => name.endsWith('.test.ts'))
    expect(tests.filter(name => !whole.includes(name))).toEqual([])
  })

  test('the version is that of the package', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
    expect(VERSION).toBe(version)
  })
})
