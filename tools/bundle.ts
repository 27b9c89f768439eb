// Bundles the command line, which is also the server, into a few files. It starts faster and takes less memory than a
// thousand modules.
// The built library gets the packages that only the network and directories need. Native modules stay outside. With an
// argument, the command line alone is bundled, into that directory.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { rolldown } from 'rolldown'
import { consoleSources, withModulesNamed } from '../adapters/console/console-sources.ts'
import { bundlePackages } from './bundled-packages.ts'

const ROOT = join(import.meta.dirname, '..')
const OUT = resolve(process.argv[2] ?? join(ROOT, 'dist/cli'))

/** Entry points by output name. Code starts a thread by its name in the same directory. */
const ENTRIES = {
  main: 'adapters/cli/main.ts',
  'block-thread': 'src/content/block-thread.ts',
  'checkpoint-thread': 'src/storage/checkpoint-thread.ts',
  'copy-thread': 'src/storage/copy-thread.ts',
  'loop-watcher': 'adapters/node-http/loop-watcher.ts',
  'reader-thread': 'adapters/node-http/reader-thread.ts',
}
/**
 * Native modules. The API of OpenTelemetry hides its SDK from another copy of a newer version, so the server must load
 * the installed one.
 */
const OUTSIDE = [/^better-sqlite3$/, /^classic-level$/, /^@opentelemetry\/api$/]

const input = Object.fromEntries(Object.entries(ENTRIES).map(([name, path]) => [name, join(ROOT, path)]))
const bundle = await rolldown({ input, external: OUTSIDE, platform: 'node', logLevel: 'warn' })
const { output } = await bundle.write({
  dir: OUT,
  format: 'esm',
  entryFileNames: '[name].js',
  // Node looks for no package.json beside files of this kind, and there are many.
  chunkFileNames: '[name]-[hash].mjs',
  minify: false,
})
await bundle.close()

const { page, pageModules } = await bundledPage()
writePage(join(OUT, 'page'))
// The library looks for the page next to its own code.
if (process.argv[2] === undefined) writePage(join(ROOT, 'dist/adapters/console/page'))

const modules = [...output.flatMap(file => (file.type === 'chunk' ? file.moduleIds : [])), ...pageModules]
writeFileSync(join(OUT, 'LICENSES.txt'), licences(modules))
if (process.argv[2] === undefined) {
  const dist = join(ROOT, 'dist')
  writeFileSync(join(dist, 'src/packages/LICENSES.txt'), licences(await bundlePackages(dist, ROOT)))
}
const bytes = output.reduce((sum, file) => sum + Buffer.byteLength(file.type === 'chunk' ? file.code : file.source), 0)
console.log(`${OUT}: ${output.length} files of ${modules.length} modules, ${(bytes / 1e6).toFixed(1)} MB`)

/** Bundles the console's modules into one, for far fewer requests and half the bytes. */
async function bundledPage(): Promise<{ page: Map<string, Buffer>; pageModules: string[] }> {
  const sources = await consoleSources()
  const bundle = await rolldown({
    input: join(ROOT, 'adapters/console/page/main.ts'),
    platform: 'browser',
    logLevel: 'warn',
  })
  const { output } = await bundle.generate({ format: 'esm', entryFileNames: 'main.js', minify: true })
  await bundle.close()
  const page = new Map([...sources].filter(([path]) => !path.endsWith('.js')))
  const chunks = output.filter(file => file.type === 'chunk')
  for (const { fileName, code } of chunks) page.set(fileName, Buffer.from(code))
  return { page: withModulesNamed(page), pageModules: chunks.flatMap(({ moduleIds }) => moduleIds) }
}

function writePage(directory: string): void {
  for (const [path, bytes] of page) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), bytes)
  }
}

function licences(ids: readonly string[]): string {
  const packages = new Map<string, string>()
  for (const id of ids) {
    if (!id.includes('node_modules')) continue
    const { directory, name } = packageOf(dirname(id))
    packages.set(name, directory)
  }
  const texts = [...packages].sort().map(([name, directory]) => {
    const files = readdirSync(directory).filter(file => /^(licen[cs]e|copying|notice)/i.test(file))
    const text = files.map(file => readFileSync(join(directory, file), 'utf8').trim()).join('\n\n')
    return `${name}\n\n${text}\n`
  })
  return `The bundled packages and their licences.\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`
}

function packageOf(directory: string): { directory: string; name: string } {
  const file = join(directory, 'package.json')
  if (existsSync(file)) {
    const { name, version, license } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>
    if (name !== undefined && version !== undefined) return { directory, name: `${name} ${version} (${license})` }
  }
  return packageOf(dirname(directory))
}
