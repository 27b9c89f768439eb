import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { nodeFileSystem } from '../../src/disk/node-file-system.ts'
import { needsLinux } from '../support/needs.ts'
import { withTempDir } from '../support/temp-dir.ts'

test('a read leaves no open file, whether it succeeds or fails', needsLinux, () =>
  withTempDir(async directory => {
    const path = join(directory, 'block')
    await writeFile(path, 'block')
    const open = async (): Promise<number> => (await readdir('/proc/self/fd')).length
    const before = await open()
    for (let reads = 0; reads < 20; reads++) {
      expect(Buffer.from(await nodeFileSystem.read(path, 5)).toString()).toBe('block')
      expect(await nodeFileSystem.read(path, 9)).toHaveLength(5)
      await expect(nodeFileSystem.read(directory, 5)).rejects.toThrow('EISDIR')
      await expect(nodeFileSystem.read(join(directory, 'absent'), 5)).rejects.toThrow('ENOENT')
    }
    expect(await open()).toBeLessThan(before + 20)
  }),
)
