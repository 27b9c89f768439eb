import { execFile } from 'node:child_process'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url))
/** What the command line is made of. */
const SOURCES = ['src', 'adapters', 'tools/bundle.ts', 'package.json', 'package-lock.json']
/** What is written last: a build that was broken off counts as none. */
const LAST_WRITTEN = 'LICENSES.txt'

let built: Promise<string> | undefined

/**
 * The command line as people run it, `dist/cli/main.js`, built once in this process if the sources are newer.
 * @throws Error if it cannot be built
 */
export function builtServer(): Promise<string> {
  built ??= build(join(CHECKOUT, 'dist/cli'))
  return built
}

async function build(directory: string): Promise<string> {
  const main = join(directory, 'main.js')
  if (!isOlder(join(directory, LAST_WRITTEN), CHECKOUT, SOURCES)) return main
  console.error('dist/cli is older than the sources, or not there: the standalone server is built')
  // Files of an earlier build are named by what is in them, and would stay.
  rmSync(directory, { recursive: true, force: true })
  try {
    await promisify(execFile)(process.execPath, [join(CHECKOUT, 'tools/bundle.ts')])
  } catch (error) {
    throw new Error(`the standalone server, which is what is measured, cannot be built: ${reasonOf(error)}`)
  }
  return main
}

/** Whether a file is older than any of the sources, which are files and directories; or is not there. */
export function isOlder(file: string, root: string, sources: readonly string[]): boolean {
  const written = changedAt(file)
  return sources.some(source => {
    const path = join(root, source)
    const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
    const within = isDirectory ? readdirSync(path, { recursive: true, encoding: 'utf8' }) : []
    // The directories, too: nothing else tells that a file is gone.
    return [path, ...within.map(name => join(path, name))].some(one => changedAt(one) > written)
  })
}

function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY
}

/** What the build says is wrong, of all that Node says. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error)
  return /^\S*Error\b.*$/m.exec(text)?.[0] ?? text.trim().slice(-300)
}
