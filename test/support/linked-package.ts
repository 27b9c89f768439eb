import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const ROOT = join(import.meta.dirname, '../..')

/** The entries of the package and the sources behind them. */
const ENTRIES = {
  '.': 'src/index.ts',
  './node-http': 'adapters/node-http/index.ts',
  './fetch': 'adapters/fetch/index.ts',
  './fastify': 'adapters/fastify/index.ts',
  './console': 'adapters/console/index.ts',
  './client': 'adapters/client/index.ts',
  './kubo': 'adapters/kubo/index.ts',
  './ipfs-cluster': 'adapters/ipfs-cluster/index.ts',
  './holdfast': 'adapters/holdfast/index.ts',
}

/**
 * Makes a directory a project in which `holdfast` is installed: its entries lead to the sources, which run as they
 * are. `others` are packages that the project has too.
 */
export async function linkPackage(dir: string, others: readonly string[] = []): Promise<void> {
  const installed = join(dir, 'node_modules', 'holdfast')
  await mkdir(installed, { recursive: true })
  const exports: Record<string, string> = {}
  for (const [entry, source] of Object.entries(ENTRIES)) {
    const file = `./${source.replaceAll('/', '-')}.js`
    exports[entry] = file
    await writeFile(join(installed, file), `export * from ${JSON.stringify(pathToFileURL(join(ROOT, source)))}\n`)
  }
  await writeFile(join(installed, 'package.json'), JSON.stringify({ name: 'holdfast', type: 'module', exports }))
  await writeFile(join(dir, 'package.json'), JSON.stringify({ type: 'module' }))
  for (const name of others) {
    await mkdir(dirname(join(dir, 'node_modules', name)), { recursive: true })
    await symlink(join(ROOT, 'node_modules', name), join(dir, 'node_modules', name), 'junction')
  }
}
