import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { PROBE } from '../../src/content/store-watch.ts'

/** Runs with a new directory and removes it afterwards. */
export async function withTempDir<T>(run: (dir: string) => Promise<T>, parent = tmpdir()): Promise<T> {
  const dir = await realpath(await mkdtemp(join(parent, 'holdfast-test-')))
  try {
    return await run(dir)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** Returns every file below a directory, as sorted relative paths, without the probe file of a running node. */
export async function filesIn(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  return entries
    .filter(entry => !entry.isDirectory() && entry.name !== PROBE)
    .map(entry => relative(dir, join(entry.parentPath, entry.name)))
    .sort()
}
