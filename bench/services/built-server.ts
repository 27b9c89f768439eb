import { execFile } from 'node:child_process'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url))
const SOURCES = ['src', 'adapters', 'tools/bundle.ts', 'package.json', 'package-lock.json']
/** The file written last. An interrupted build lacks it. */
const LAST_WRITTEN = 'LICENSES.txt'

let built: Promise<string> | undefined

/**
 * Returns `dist/cli/main.js`, the command line as users run it. Builds it once in this process if the sources are
 * newer.
 * @throws Error if the build fails
 */
export function builtServer(): Promise<string> {
  built ??= build(join(CHECKOUT, 'dist/cli'))
  return built
}

async function build(directory: string): Promise<string> {
  const main = join(directory, 'main.js')
  if (!isOlder(join(directory, LAST_WRITTEN), CHECKOUT, SOURCES)) return main
  console.error('building the standalone server: dist/cli is missing or older than the sources')
  // Files of an earlier build have hashes in their names, so a new build would not replace them.
  rmSync(directory, { recursive: true, force: true })
  try {
    await promisify(execFile)(process.execPath, [join(CHECKOUT, 'tools/bundle.ts'), directory])
  } catch (error) {
    throw new Error(`the standalone server cannot be built: ${reasonOf(error)}`)
  }
  return main
}

/** Returns true if a file is missing, or older than any of the sources, which may be directories. */
export function isOlder(file: string, root: string, sources: readonly string[]): boolean {
  const written = changedAt(file)
  return sources.some(source => {
    const path = join(root, source)
    const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
    const within = isDirectory ? readdirSync(path, { recursive: true, encoding: 'utf8' }) : []
    // Directories are included because only they show a deleted file.
    return [path, ...within.map(name => join(path, name))].some(one => changedAt(one) > written)
  })
}

function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error)
  return /^\S*Error\b.*$/m.exec(text)?.[0] ?? text.trim().slice(-300)
}
