import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const MODULES = join(import.meta.dirname, '../../../node_modules')

/** Imports a file of a library, of which the library itself may export nothing. */
export async function libraryFile<T = Record<string, unknown>>(file: string): Promise<T> {
  return (await import(pathToFileURL(join(MODULES, file)).href)) as T
}
