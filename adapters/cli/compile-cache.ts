import { existsSync, lstatSync, mkdirSync } from 'node:fs'
import module from 'node:module'
import { join } from 'node:path'

/** Wherever a data directory is, unless something says where. */
export const DEFAULT_DATA_DIR = './data'

const OTHERS = 0o077

/**
 * Has Node keep what it compiles in the data directory that `serve` is about to open, so that the next start is
 * quicker. Whoever can write there can change what is run: so it is never a shared temporary directory, nor a directory
 * of somebody else, and for commands that only happen to stand beside a data directory there is none.
 */
export function keepCompiled(args: readonly string[], env: Readonly<Record<string, string | undefined>>): void {
  const directory = directoryOf(args, env)
  if (directory === null || !existsSync(join(directory, 'holdfast.db'))) return
  const cache = join(directory, 'cache')
  try {
    if (!existsSync(cache)) mkdirSync(cache, { mode: 0o700 })
    if (isOurs(cache)) module.enableCompileCache(cache)
  } catch {
    // A start without it only takes longer; what is wrong with the directory is told by whoever opens it.
  }
}

/** Writes down what has been compiled so far: a server may end by being killed. */
export function writeCompiled(): void {
  module.flushCompileCache()
}

function directoryOf([command, ...args]: readonly string[], env: Readonly<Record<string, string | undefined>>) {
  if (command !== 'serve') return null
  const at = args.findIndex(arg => arg === '--data-dir' || arg.startsWith('--data-dir='))
  const given = at === -1 ? undefined : args[at]?.split('=').slice(1).join('=') || args[at + 1]
  return given ?? (env.HOLDFAST_DATA_DIR || DEFAULT_DATA_DIR)
}

function isOurs(directory: string): boolean {
  const entry = lstatSync(directory)
  // Windows has neither.
  const uid = process.getuid?.()
  return entry.isDirectory() && (uid === undefined || (entry.uid === uid && (entry.mode & OTHERS) === 0))
}
