import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import Type from 'typebox'
import { Value } from 'typebox/value'
import { databaseFiles } from '../disk/database-files.ts'
import { nodeFileSystem } from '../disk/node-file-system.ts'
import { replaceFile } from '../disk/replace-file.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import { databaseFile } from './manifest.ts'

/** Journal of the databases that a run may leave behind. A run writes it before its first file, and deletes it last. */
const JOURNAL = 'unfinished.json'

const schema = Type.Object({
  format: Type.Literal('holdfast-unfinished-1'),
  databases: Type.Array(databaseFile, { maxItems: 1_000 }),
})

/**
 * The databases in a backup directory that belong to this program, although no manifest names them. Only these may be
 * deleted or replaced: other files with such names belong to somebody else.
 */
export class UnfinishedRuns {
  readonly #directory: string
  /** Databases that killed runs left behind. */
  readonly #left: readonly string[]

  private constructor(directory: string, left: readonly string[]) {
    this.#directory = directory
    this.#left = left
  }

  /** Reads the journal. A damaged journal names nothing. Returns null without a journal. */
  static async read(directory: string): Promise<UnfinishedRuns | null> {
    try {
      const { databases } = Value.Parse(schema, JSON.parse(await readFile(join(directory, JOURNAL), 'utf8')))
      return new UnfinishedRuns(directory, databases)
    } catch (error) {
      return fileErrorCode(error) === 'ENOENT' ? null : new UnfinishedRuns(directory, [])
    }
  }

  static none(directory: string): UnfinishedRuns {
    return new UnfinishedRuns(directory, [])
  }

  /** Returns whether a run of a backup, killed at any moment, may have left a file or a directory of this name. */
  mayHaveLeft(name: string): boolean {
    return ['stores', 'keys', JOURNAL].includes(name) || this.#left.some(database => name.startsWith(database))
  }

  /**
   * Chooses a name for the database of a new run, and notes the name before the file exists. Deletes a database of a
   * killed run that has the name.
   *
   * @param previous database that the manifest names, which stays until the run completes; null without a manifest
   */
  async begin(sequence: number, previous: string | null): Promise<RunFiles> {
    for (let number = sequence; ; number++) {
      const file = `database-${number.toString(36)}.db`
      const isOurs = this.#left.includes(file) && file !== previous
      if (!isOurs && (await this.#isTaken(file))) continue
      const before = [...new Set([...this.#left, ...(previous === null ? [] : [previous])])].filter(x => x !== file)
      await this.#note([...before, file])
      await this.#delete(file)
      return {
        file,
        complete: async () => {
          for (const name of before) await this.#delete(name)
          await this.#note([])
        },
        giveUp: async () => {
          await this.#delete(file)
          await this.#note(this.#left.filter(name => name !== file))
        },
      }
    }
  }

  async #note(databases: readonly string[]): Promise<void> {
    const path = join(this.#directory, JOURNAL)
    if (databases.length > 0) {
      return replaceFile(path, `${JSON.stringify({ format: 'holdfast-unfinished-1', databases })}\n`)
    }
    await rm(path, { force: true })
    await nodeFileSystem.syncDirectory(this.#directory)
  }

  async #isTaken(file: string): Promise<boolean> {
    const names = await readdir(this.#directory)
    return databaseFiles(file).some(name => names.includes(name))
  }

  async #delete(file: string): Promise<void> {
    for (const name of databaseFiles(file)) await rm(join(this.#directory, name), { force: true })
  }
}

export interface RunFiles {
  /** Name of the database of this run. */
  file: string
  /** Deletes the databases of earlier runs. The manifest of this run must be on the disk. */
  complete(): Promise<void>
  /** Deletes the database of this run. */
  giveUp(): Promise<void>
}
