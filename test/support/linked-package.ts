import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import packageJson from '../../package.json' with { type: 'json' }

const ROOT = join(import.meta.dirname, '../..')

/** Entries of the package, each with the source it is built from. */
const ENTRIES = Object.entries(packageJson.exports).flatMap(([entry, target]) =>
  typeof target === 'string' ? [] : [[entry, sourceOf(target.default)] as const],
)

/**
 * Makes a directory a project with `holdfast` installed, whose entries import the sources without a build. `others`
 * names more packages to install.
 */
export async function linkPackage(dir: string, others: readonly string[] = []): Promise<void> {
  const installed = join(dir, 'node_modules', 'holdfast')
  await mkdir(installed, { recursive: true })
  const exports: Record<string, string> = {}
  for (const [entry, source] of ENTRIES) {
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

/** Returns `src/index.ts` for `./dist/src/index.js`. */
function sourceOf(built: string): string {
  return built.replace('./dist/', '').replace(/\.js$/, '.ts')
}
