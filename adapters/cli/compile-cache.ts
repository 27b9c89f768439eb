import { existsSync, lstatSync, mkdirSync } from 'node:fs'
import module from 'node:module'
import { join, resolve } from 'node:path'

export const DEFAULT_DATA_DIR = './data'

const OTHERS = 0o077

/**
 * Makes Node cache the compiled code of `serve` in the server's data directory, for faster starts. Returns the directory
 * of the cache, which threads read from `NODE_COMPILE_CACHE`; undefined without a cache.
 *
 * Anyone who can write to the cache can change the code that runs. Therefore the cache is never in a shared temporary
 * directory or in another user's directory.
 */
export function keepCompiled(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const [command] = args
  const directory = directoryOf(args, env)
  if (command !== 'serve' || !existsSync(join(directory, 'holdfast.db'))) return undefined
  const cache = join(directory, 'cache')
  try {
    if (!existsSync(cache)) mkdirSync(cache, { mode: 0o700 })
    if (!isOurs(cache)) return undefined
    module.enableCompileCache(cache)
    return cache
  } catch {
    // The cache is optional. The engine reports an unusable directory when it opens the directory.
    return undefined
  }
}

/** Writes the compiled code to disk at once, because a killed server writes nothing at exit. */
export function writeCompiled(): void {
  module.flushCompileCache()
}

/**
 * Returns the directory for temporary files of SQLite, which migrations and `compact` need: the data directory, so that
 * no other directory has to be writable. SQLite reads the directory before it opens its first database.
 */
export function temporaryFilesOf(args: readonly string[], env: Readonly<Record<string, string | undefined>>): string {
  return resolve(directoryOf(args, env))
}

function directoryOf(args: readonly string[], env: Readonly<Record<string, string | undefined>>): string {
  const at = args.findIndex(arg => arg === '--data-dir' || arg.startsWith('--data-dir='))
  const given = at === -1 ? undefined : args[at]?.split('=').slice(1).join('=') || args[at + 1]
  return given ?? (env.HOLDFAST_DATA_DIR || DEFAULT_DATA_DIR)
}

function isOurs(directory: string): boolean {
  const entry = lstatSync(directory)
  // Windows has no user ids and no such file modes.
  const uid = process.getuid?.()
  return entry.isDirectory() && (uid === undefined || (entry.uid === uid && (entry.mode & OTHERS) === 0))
}
