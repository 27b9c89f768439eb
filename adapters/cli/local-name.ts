import { bytesOfText, shownText, uriOfText } from '../../src/domain/byte-text.ts'

/** Characters of names that Windows changes, or understands differently, without an error. */
const REFUSED_BY_WINDOWS = /[<>:"\\|?*\p{Cc}\p{Co}]|[. ]$/u
/** Error codes of file systems that do not take all names. */
const REFUSALS: readonly unknown[] = ['EILSEQ', 'EINVAL']

/** Returns a path for the functions of `node:fs`. Its names are text forms. */
export function onDisk(path: string): string | Buffer {
  return shownText(path) === path ? path : Buffer.from(bytesOfText(path))
}

/**
 * Creates a file or directory in a folder. If the file system refuses the name, which is a text form, creates it with
 * the percent-encoded name. Returns the path as well.
 *
 * @throws the errors of `create`
 */
export async function createNamed<T>(
  folder: string,
  name: string,
  create: (path: string) => Promise<T>,
): Promise<{ made: T; path: string; isRenamed: boolean }> {
  const path = `${folder}/${name}`
  if (process.platform !== 'win32' || !REFUSED_BY_WINDOWS.test(name)) {
    try {
      return { made: await create(path), path, isRenamed: false }
    } catch (error) {
      if (!REFUSALS.includes((error as NodeJS.ErrnoException).code)) throw error
    }
  }
  const encoded = `${folder}/${encodedName(name)}`
  return { made: await create(encoded), path: encoded, isRenamed: true }
}

function encodedName(name: string): string {
  return uriOfText(name).replace(/\*|\.$/g, char => (char === '*' ? '%2A' : '%2E'))
}
