import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { createEngine, type Engine, restoreBackup } from '../../src/index.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { newDirectory } from '../support/new-database.ts'
import { viaGateway } from '../support/read-back.ts'
import { withTempDir } from '../support/temp-dir.ts'
import type { TestEngine } from '../support/test-engine.ts'

/** A file system other than that of the data directories, so that blocks are copied. */
export const OTHER_DISK = process.env.HOLDFAST_TEST_DISK ?? '/dev/shm'

/** Uploads contents of several sizes: rows, chunks and nodes. Returns them by CID. */
export async function fill(
  { engine, account }: Pick<TestEngine, 'engine' | 'account'>,
  name: string,
  { cluster, sizes = [100, 40_000, 2_500_000] }: { cluster?: string; sizes?: readonly number[] } = {},
): Promise<Map<string, Buffer>> {
  const stored = new Map<string, Buffer>()
  for (const size of sizes) {
    const content = pseudoRandom(size, `${name} ${size}`)
    const { record } = await engine.pins.upload(content, { account, name, cluster })
    stored.set(record.cid, content)
  }
  return stored
}

export async function expectStored(engine: Engine, stored: ReadonlyMap<string, Buffer>): Promise<void> {
  for (const [cid, content] of stored) {
    const { status, bytes } = await viaGateway(engine, `/ipfs/${cid}`)
    expect([cid, status, bytes.equals(content)]).toEqual([cid, 200, true])
  }
}

/** Restores a backup into a new directory and checks that it has all contents. */
export async function expectRestores(
  backup: string,
  stored: ReadonlyMap<string, Buffer>,
  options: Partial<Parameters<typeof restoreBackup>[0]> = {},
): Promise<void> {
  await withTempDir(async dir => {
    const dataDir = join(dir, 'restored')
    await restoreBackup({ backup, dataDir, ...options })
    const engine = await createEngine({ dataDir: newDirectory(dataDir) })
    try {
      await expectStored(engine, stored)
    } finally {
      await engine.stop()
    }
  })
}

/** Flips one bit of a file as a disk does: size and times stay. */
export function flipBit(file: string, bit = 4_321): void {
  const { atime, mtime } = statSync(file)
  const bytes = readFileSync(file)
  const at = bit % (bytes.length * 8)
  bytes[at >> 3] = (bytes[at >> 3] ?? 0) ^ (1 << (at & 7))
  writeFileSync(file, bytes)
  utimesSync(file, atime, mtime)
}

/** Returns the paths of files below a directory whose names have a suffix. */
export function filesBelow(dir: string, ending = ''): string[] {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile() && entry.name.endsWith(ending))
  return files.map(entry => join(entry.parentPath, entry.name)).sort()
}
