import { nodeFileSystem } from '../../src/disk/node-file-system.ts'
import type { FileSystem } from '../../src/domain/file-system.ts'
import { Draws } from '../support/draws.ts'

/** One operation in this many fails. */
const ONE_IN = 12

/**
 * The real file system, on which syncs, deletions and new files fail at random after `begin`, with disk errors and for
 * lack of space.
 */
export function failingFiles(seed: number): { fileSystem: FileSystem; begin(): void } {
  const draws = new Draws(seed)
  let begun = false
  const mayFail = (code: string): void => {
    if (begun && draws.below(ONE_IN) === 0) throw Object.assign(new Error(`${code}: injected`), { code })
  }
  const opening =
    (open: FileSystem['create']): FileSystem['create'] =>
    async path => {
      mayFail('ENOSPC')
      const file = await open(path)
      return {
        write: async bytes => {
          mayFail('ENOSPC')
          await file.write(bytes)
        },
        datasync: async () => {
          mayFail('EIO')
          await file.datasync()
        },
        close: () => file.close(),
      }
    }
  const fileSystem: FileSystem = {
    ...nodeFileSystem,
    create: opening(nodeFileSystem.create),
    append: opening(nodeFileSystem.append),
    rename: async (from, to) => {
      mayFail('EIO')
      await nodeFileSystem.rename(from, to)
    },
    unlink: async path => {
      mayFail('EPERM')
      await nodeFileSystem.unlink(path)
    },
    syncDirectory: async path => {
      mayFail('EIO')
      await nodeFileSystem.syncDirectory(path)
    },
  }
  return {
    fileSystem,
    begin: () => {
      begun = true
    },
  }
}
