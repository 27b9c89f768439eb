// Finds unreachable files, exports that no other file imports, and unused dependencies.
// The starting points are the package's entries and command, the scripts of package.json, tests and configurations. A
// type may be exported just for a signature in its own file.
import { globSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { parseAst } from 'vite'

const ROOT = join(import.meta.dirname, '..')
/** Directory whose files are imported by listing it, all with the same export. */
const LISTED = 'test/abuse/rows/'
/** A program of another package that has this one installed. */
const CONSUMER = 'tools/package-consumer/'

interface Package {
  exports: Record<string, { default: string } | string>
  bin: Record<string, string>
  scripts: Record<string, string>
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
  peerDependencies: Record<string, string>
}

interface Source {
  path: string
  text: string
  exported: Set<string>
  /** Imported names by module; `*` for all of a module. */
  taken: Array<{ specifier: string; names: string[] }>
}

interface Node {
  type: string
  [key: string]: unknown
}

const metadata = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Package
const sources = new Map(
  globSync('{src,adapters,test,bench,tools}/**/*.ts', {
    cwd: ROOT,
    exclude: ['**/node_modules/**', '**/*.d.ts', `${CONSUMER}**`],
  })
    .concat('vitest.config.ts')
    .map(path => read(path.replaceAll('\\', '/')))
    .map(source => [source.path, source]),
)

function read(path: string): Source {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const source: Source = { path, text, exported: new Set(), taken: [] }
  visit(parseAst(text, { lang: 'ts' }), source)
  return source
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

function visit(value: unknown, source: Source): void {
  if (Array.isArray(value)) for (const item of value) visit(item, source)
  if (!isNode(value)) return
  note(value, source)
  for (const child of Object.values(value)) visit(child, source)
}

function nodes(value: unknown): Node[] {
  return Array.isArray(value) ? value.filter(isNode) : []
}

function nameOf(value: unknown): string {
  return isNode(value) ? String(value.name ?? value.value) : ''
}

function note(node: Node, source: Source): void {
  const from = nameOf(node.source ?? node.argument)
  if (node.type === 'ImportDeclaration')
    source.taken.push({ specifier: from, names: nodes(node.specifiers).map(imported) })
  if (node.type === 'ExportAllDeclaration') source.taken.push({ specifier: from, names: ['*'] })
  if (node.type === 'ImportExpression' || node.type === 'TSImportType')
    source.taken.push({ specifier: from, names: ['*'] })
  if (node.type !== 'ExportNamedDeclaration') return
  const specifiers = nodes(node.specifiers)
  if (isNode(node.source)) source.taken.push({ specifier: from, names: specifiers.map(({ local }) => nameOf(local)) })
  for (const specifier of specifiers) source.exported.add(nameOf(specifier.exported))
  for (const name of declared(node.declaration)) source.exported.add(name)
}

function imported(specifier: Node): string {
  if (specifier.type === 'ImportNamespaceSpecifier') return '*'
  return specifier.type === 'ImportDefaultSpecifier' ? 'default' : nameOf(specifier.imported)
}

function declared(declaration: unknown): string[] {
  if (!isNode(declaration)) return []
  if (/^TS(Interface|TypeAlias)Declaration$/.test(declaration.type)) return []
  return declaration.type === 'VariableDeclaration'
    ? nodes(declaration.declarations).map(({ id }) => nameOf(id))
    : [nameOf(declaration.id)]
}

function published(): string[] {
  const built = [...Object.values(metadata.exports), ...Object.values(metadata.bin)]
  return built
    .map(entry => (typeof entry === 'string' ? entry : entry.default))
    .map(path => path.replace(/^\.\/dist\//, '').replace(/\.js$/, '.ts'))
}

function targetOf(source: Source, specifier: string): string {
  return join(dirname(source.path), specifier).replaceAll('\\', '/')
}

/** Returns files that run by themselves or are named in a string: threads, child processes, preloads. */
function entries(): string[] {
  const workflows = globSync('.github/workflows/*.yml', { cwd: ROOT }).map(path =>
    readFileSync(join(ROOT, path), 'utf8'),
  )
  const scripts = [...Object.values(metadata.scripts), ...workflows].join(' ')
  const texts = [...sources.values()]
    .map(({ text }) => text.replace(/\bfrom '[^']*'|\bimport\('[^']*'\)/g, ''))
    .join('\n')
  return [...sources.keys()].filter(path => {
    if (/\.test\.ts$|\.config\.ts$/.test(path) || scripts.includes(path) || published().includes(path)) return true
    if (path.startsWith(LISTED)) return true
    const named = new RegExp(`['"/]${basename(path).replaceAll('.', '\\.')}['"]`)
    return named.test(texts)
  })
}

function reachable(): Set<string> {
  const reached = new Set(entries())
  for (const path of reached) {
    const source = sources.get(path)
    for (const { specifier } of source?.taken ?? []) {
      const target = specifier.startsWith('.') && source !== undefined ? targetOf(source, specifier) : ''
      if (sources.has(target)) reached.add(target)
    }
  }
  return reached
}

function unusedExports(): string[] {
  const used = new Map<string, Set<string>>()
  for (const source of sources.values()) {
    for (const { specifier, names } of source.taken.filter(({ specifier }) => specifier.startsWith('.'))) {
      const target = targetOf(source, specifier)
      used.set(target, new Set([...(used.get(target) ?? []), ...names]))
    }
  }
  const open = new Set(published())
  return [...sources.values()].flatMap(({ path, exported }) => {
    const taken = used.get(path) ?? new Set()
    if (open.has(path) || path.startsWith(LISTED) || taken.has('*')) return []
    return [...exported]
      .filter(name => !taken.has(name))
      .map(name => `${path} exports ${name}, which no other file imports`)
  })
}

function dependencies(): string[] {
  const { dependencies, devDependencies, peerDependencies } = metadata
  const known = { ...dependencies, ...devDependencies, ...peerDependencies }
  const imports = [...sources.values()].flatMap(source => source.taken.map(({ specifier }) => ({ specifier, source })))
  const packages = imports
    .filter(({ specifier }) => !/^[.(]|^node:|^(undefined)?$/.test(specifier) && !builtinModules.includes(specifier))
    .map(({ specifier, source }) => ({ name: packageOf(specifier), source }))
  const undeclared = packages
    .filter(({ name }) => !(name in known))
    .map(({ name, source }) => `${source.path} imports ${name}, which package.json does not declare`)
  const used = new Set(packages.map(({ name }) => name))
  // Commands and types are named in texts instead of imported.
  const named = [
    JSON.stringify(metadata.scripts),
    ...[...sources.values()].filter(({ path }) => /^(tools|test)\//.test(path)).map(({ text }) => text),
  ].join('\n')
  const command: Record<string, string> = {
    typescript: 'tsc',
    '@biomejs/biome': 'biome',
    '@vitest/coverage-v8': 'coverage',
  }
  const unused = Object.keys(devDependencies).filter(name => {
    const isTypes = name.startsWith('@types/') && (name === '@types/node' || used.has(name.slice(7)))
    return !used.has(name) && !isTypes && !named.includes(command[name] ?? name)
  })
  return [...undeclared, ...unused.map(name => `nothing uses ${name}`)]
}

function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

const reached = reachable()
const lost = [...sources.keys()].filter(path => !reached.has(path)).map(path => `nothing reaches ${path}`)
const findings = [...lost, ...unusedExports(), ...dependencies()]
for (const finding of findings) console.error(finding)
console.log(`${sources.size} files, ${findings.length} unused`)
process.exitCode = findings.length === 0 ? 0 : 1
