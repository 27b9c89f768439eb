import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Directories below a root that are read. */
const MOST_DIRECTORIES = 1_000

/**
 * Returns the time of the newest backup in these directories or directly below them, in ms since the epoch. Returns null
 * if there is none that can be read.
 */
export async function newestBackup(roots: readonly string[]): Promise<number | null> {
  let newest: number | null = null
  for (const root of roots) {
    for (const directory of [root, ...(await directoriesIn(root))]) {
      const at = await createdAt(directory)
      if (at !== null) newest = Math.max(newest ?? at, at)
    }
  }
  return newest
}

async function directoriesIn(root: string): Promise<string[]> {
  const entries = await readdir(root, { withFileTypes: true }).catch(() => [])
  const directories = entries.filter(entry => entry.isDirectory()).map(entry => join(root, entry.name))
  return directories.slice(0, MOST_DIRECTORIES)
}

/** Returns null if the directory has no backup that can be read. */
async function createdAt(directory: string): Promise<number | null> {
  try {
    const at = Date.parse(JSON.parse(await readFile(join(directory, 'manifest.json'), 'utf8')).createdAt)
    return Number.isNaN(at) ? null : at
  } catch {
    return null
  }
}
