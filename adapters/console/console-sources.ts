import { readdir, readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { extname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Directories of the sources, and the paths under which their modules are served. */
const PLACES: ReadonlyArray<[directory: string, served: string]> = [
  ['page', ''],
  ['../client', 'client/'],
  ['../../src/domain', 'domain/'],
]

/**
 * Matches the specifier of an import. The import of a module that is loaded later has a parenthesis. A quote before the
 * keyword shows that it is a text.
 */
const SPECIFIER = /(?<!["'])\b(from ?|import ?\(?)(["'])([^"'\n]{1,200})["']/g

/**
 * Builds the files of the console, without types. Modules import each other by the paths that they are served at.
 * Modules of the library and of packages are included only if the page uses them.
 *
 * The page does not list its modules yet, see {@link withModulesNamed}.
 */
export async function consoleSources(here: string = import.meta.dirname): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>()
  const page = join(here, 'page')
  const names = (await readdir(page, { recursive: true })).filter(
    name => extname(name) !== '' && !name.endsWith('.json'),
  )
  const wanted = names.map(name => join(page, name))
  for (let file = wanted.pop(); file !== undefined; file = wanted.pop()) {
    const path = servedPath(file, here)
    if (files.has(path)) continue
    if (!/\.m?[jt]s$/.test(file)) {
      files.set(path, await readFile(file))
      continue
    }
    const { code, imported } = browserModule(await readFile(file, 'utf8'), file, here)
    files.set(path, Buffer.from(code))
    wanted.push(...imported)
  }
  return files
}

/**
 * Adds preload links to the page. The browser then loads the modules of the start at once instead of one level of
 * imports after another.
 */
export function withModulesNamed(files: Map<string, Buffer>): Map<string, Buffer> {
  const links = [...modulesOfStart(files)]
    .sort()
    .map(path => `<link rel="modulepreload" href="${path}">`)
    .join('\n')
  const page = files.get('index.html')?.toString().replace('<!-- modules -->', links)
  return page === undefined ? files : files.set('index.html', Buffer.from(page))
}

/** Returns the paths of the entry point and of all modules that it imports, except those that it loads later. */
function modulesOfStart(files: ReadonlyMap<string, Buffer>): Set<string> {
  const paths = new Set(['main.js'])
  for (const path of paths) {
    for (const [, keyword = '', , specifier = ''] of String(files.get(path)).matchAll(SPECIFIER)) {
      const target = new URL(specifier, `http://page/${path}`).pathname.slice(1)
      if (!keyword.includes('(') && files.has(target)) paths.add(target)
    }
  }
  return paths
}

interface BrowserModule {
  code: string
  /** Absolute paths of the modules that this module imports. */
  imported: string[]
}

function browserModule(source: string, file: string, here: string): BrowserModule {
  const imported: string[] = []
  const plain = file.endsWith('.ts') ? withoutRemarks(stripTypeScriptTypes(source)) : source
  const path = servedPath(file, here)
  const code = plain.replaceAll(SPECIFIER, (_, keyword: string, quote: string, specifier: string) => {
    const target = specifier.startsWith('.')
      ? resolve(file, '..', specifier)
      : fileURLToPath(import.meta.resolve(specifier))
    imported.push(target)
    return `${keyword}${quote}${relativeUrl(path, servedPath(target, here))}${quote}`
  })
  return { code, imported }
}

/** Removes comment lines and empty lines, which are a third of the transfer. */
function withoutRemarks(code: string): string {
  let isInside = false
  const kept = code.split('\n').filter(line => {
    const text = line.trim()
    const isRemark = isInside || text.startsWith('/**')
    if (isRemark) isInside = !text.includes('*/')
    return !isRemark && text !== '' && !text.startsWith('//')
  })
  return kept.map(line => `${line.trimEnd()}\n`).join('')
}

function servedPath(file: string, here: string): string {
  const [, name] = file.replaceAll('\\', '/').split('/node_modules/')
  if (name !== undefined) return `vendor/${name.replace(/\.mjs$/, '.js')}`
  for (const [directory, served] of PLACES) {
    const path = relative(join(here, directory), file).replaceAll('\\', '/')
    if (!path.startsWith('..')) return served + path.replace(/\.ts$/, '.js')
  }
  throw new Error(`${file} has no build for browsers`)
}

function relativeUrl(from: string, to: string): string {
  return `${'../'.repeat(from.split('/').length - 1) || './'}${to}`
}
