import { basename } from 'node:path'
import { nodeFileSystem } from '../../src/disk/node-file-system.ts'
import type { DiskSpace, FileSystem, NewFile } from '../../src/domain/file-system.ts'
import { fault, turns } from './content-parts.ts'

export type FileOperation =
  | 'create'
  | 'append'
  | 'write'
  | 'datasync'
  | 'close'
  | 'read'
  | 'rename'
  | 'unlink'
  | 'syncDirectory'

/** The real file system, which logs each operation and fails those that a test chooses. */
export class RecordingFiles implements FileSystem {
  /** Two lines for each operation, at its start and at its end: `rename <name>`, `rename <name> done`. */
  readonly log: string[] = []
  /** Called before each operation. A returned error code makes the operation fail. */
  fail: (operation: FileOperation, path: string) => string | undefined = () => undefined

  readonly #waiting: Array<{ line: string; resolve: () => void }> = []

  /** Resolves at the next log entry equal to this line. */
  seen(line: string): Promise<void> {
    return new Promise(resolve => this.#waiting.push({ line, resolve }))
  }

  #record(line: string): void {
    this.log.push(line)
    for (const waiting of this.#waiting) if (waiting.line === line) waiting.resolve()
  }

  /** Disk space to report instead of the real one. */
  room: DiskSpace | null = null

  async create(path: string): Promise<NewFile> {
    return this.#recorded(path, await this.#run('create', path, () => nodeFileSystem.create(path)))
  }

  async append(path: string): Promise<NewFile> {
    return this.#recorded(path, await this.#run('append', path, () => nodeFileSystem.append(path)))
  }

  #recorded(path: string, file: NewFile): NewFile {
    return {
      write: bytes => this.#run('write', path, () => file.write(bytes)),
      datasync: () => this.#run('datasync', path, () => file.datasync()),
      close: () => this.#run('close', path, () => file.close()),
    }
  }

  read(path: string, size: number): Promise<Uint8Array> {
    return this.#run('read', path, () => nodeFileSystem.read(path, size))
  }

  size(path: string): Promise<number> {
    return nodeFileSystem.size(path)
  }

  rename(from: string, to: string): Promise<void> {
    return this.#run('rename', to, () => nodeFileSystem.rename(from, to), from)
  }

  unlink(path: string): Promise<void> {
    return this.#run('unlink', path, () => nodeFileSystem.unlink(path))
  }

  makeDirectory(path: string): Promise<void> {
    return nodeFileSystem.makeDirectory(path)
  }

  list(path: string): Promise<string[]> {
    return nodeFileSystem.list(path)
  }

  syncDirectory(path: string): Promise<void> {
    return this.#run('syncDirectory', path, () => nodeFileSystem.syncDirectory(path))
  }

  async space(path: string): Promise<DiskSpace> {
    return this.room ?? (await nodeFileSystem.space(path))
  }

  /** Waits before and after each operation, so that code that does not await it visibly runs ahead. */
  async #run<T>(operation: FileOperation, path: string, work: () => Promise<T>, from?: string): Promise<T> {
    const line = [operation, ...(from === undefined ? [] : [basename(from)]), basename(path)].join(' ')
    this.#record(line)
    await turns(2)
    const code = this.fail(operation, path)
    if (code !== undefined) throw fault(code)
    const result = await work()
    await turns(2)
    this.#record(`${line} done`)
    return result
  }
}
