import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { rolldown } from 'rolldown'

/** Packages that npm would install with 800 others, and a mobile framework. */
const REPLACED =
  /^(helia|file-type|html-encoding-sniffer|ipfs-unixfs|ipfs-unixfs-importer|@(helia|libp2p|multiformats)\/[^/]+)$/
/** Packages that the build puts into the library. TypeBox has hundreds of modules, whose import takes 0.3 seconds. */
const isBundled = (name: string): boolean => name === 'typebox' || REPLACED.test(name)
/** Rooms of the library that import bundled packages. The command line has a bundle of its own. */
const ROOMS = 'src,adapters/{holdfast,ipfs-cluster,kubo,remote}'

export interface Metadata {
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
}

/** Returns the metadata of the published package. It needs the types of TypeBox, but no code of a bundled package. */
export function published<Package extends Metadata>(metadata: Package): Package {
  const isReplaced = ([name]: [string, string]): boolean => REPLACED.test(name)
  const all = Object.entries(metadata.dependencies)
  return {
    ...metadata,
    dependencies: Object.fromEntries(all.filter(each => !isReplaced(each))),
    devDependencies: { ...metadata.devDependencies, ...Object.fromEntries(all.filter(isReplaced)) },
  }
}

/**
 * Puts the bundled packages into the modules of a built library that import them. Other modules stay as they are.
 * @param dist directory of the built library
 * @param root directory of the clone, with its `node_modules`
 * @returns ids of the modules in the bundles
 */
export async function bundlePackages(dist: string, root: string): Promise<string[]> {
  const files = globSync(`{${ROOMS}}/**/*.js`, { cwd: dist }).filter(path =>
    importsBundled(readFileSync(join(dist, path), 'utf8')),
  )
  const metadata = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Metadata
  const { dependencies } = published(metadata)
  const isOutside = (id: string, importer: string | undefined): boolean => {
    if (importer === undefined) return false
    if (id.startsWith('.')) return importer.startsWith(dist)
    const name = nameOf(id)
    return (
      !isBundled(name) && name in dependencies && copyOf(name, dirname(importer)) === join(root, 'node_modules', name)
    )
  }
  const bundle = await rolldown({
    input: Object.fromEntries(files.map(path => [path.replace(/\.js$/, ''), join(dist, path)])),
    external: isOutside,
    platform: 'node',
    logLevel: 'warn',
  })
  const { output } = await bundle.write({
    dir: dist,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'src/packages/[name]-[hash].js',
    minify: false,
    codeSplitting: { groups: [{ name: 'typebox', test: /\/node_modules\/typebox\// }] },
  })
  await bundle.close()
  const chunks = output.filter(file => file.type === 'chunk')
  const wrong = chunks.flatMap(({ code, fileName }) => importsOf(code).filter(id => isWrong(id, join(dist, fileName))))
  if (wrong.length > 0) throw new Error(`imports that the bundle cannot have: ${wrong.join(', ')}`)
  return chunks.flatMap(({ moduleIds }) => moduleIds)
}

function importsBundled(code: string): boolean {
  return importsOf(code).some(id => isBundled(nameOf(id)))
}

function importsOf(code: string): string[] {
  return [...code.matchAll(/^(?:import|export|\}).*? from ['"]([^'"]+)['"];?$/gm)].map(([, id = '']) => id)
}

/** Returns true for a bundled package, and for a module that does not exist. */
function isWrong(id: string, importer: string): boolean {
  return id.startsWith('.') ? !existsSync(join(dirname(importer), id)) : isBundled(nameOf(id))
}

/** Returns the package of an import, such as `@libp2p/tcp` of `@libp2p/tcp/filters`. */
function nameOf(id: string): string {
  return id.split('/', id.startsWith('@') ? 2 : 1).join('/')
}

/** Returns the directory of the copy of a package that the modules of a directory import. */
function copyOf(name: string, directory: string): string | null {
  const copy = join(directory, 'node_modules', name)
  if (existsSync(join(copy, 'package.json'))) return copy
  return dirname(directory) === directory ? null : copyOf(name, dirname(directory))
}
