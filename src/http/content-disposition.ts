import { readParameters } from './header-parameters.ts'

/** What a form part says about itself. */
export interface Disposition {
  name: string
  /** As sent: paths are kept and nothing is normalised. Undefined for a part that is no file. */
  filename: string | undefined
}

const KIND = 'form-data'
const EXTENDED = "utf-8'"

/**
 * Reads a `Content-Disposition: form-data` value given as raw bytes, one per character, and decodes names as UTF-8.
 * Clients write a quote in a name as `%22` or `\"`; only these two are decoded, since none of them escapes `%` or a
 * lone backslash. `filename*` (RFC 8187) is percent-encoded throughout, and wins.
 *
 * Null for anything that is not form data with a name, and for what cannot be read: it might have been the file name,
 * and without it the file would be taken for a field.
 */
export function parseDisposition(raw: string): Disposition | null {
  const text = raw.trim()
  if (text.slice(0, KIND.length).toLowerCase() !== KIND) return null
  const parameters = readParameters(text, KIND.length)
  const name = parameters?.get('name')
  if (parameters === null || name === undefined) return null
  const extended = parameters.get('filename*')
  if (extended !== undefined) {
    const filename = decodeExtended(extended)
    return filename === null ? null : { name: decodeName(name), filename }
  }
  const filename = parameters.get('filename')
  return { name: decodeName(name), filename: filename === undefined ? undefined : decodeName(filename) }
}

function decodeName(raw: string): string {
  return Buffer.from(raw, 'latin1')
    .toString('utf8')
    .replaceAll(/%22|\\"/g, '"')
}

/** A value such as `UTF-8'en'%e2%82%ac.txt`; the language means nothing here. */
function decodeExtended(value: string): string | null {
  if (value.slice(0, EXTENDED.length).toLowerCase() !== EXTENDED) return null
  const language = value.indexOf("'", EXTENDED.length)
  if (language === -1) return null
  try {
    return decodeURIComponent(value.slice(language + 1))
  } catch {
    return null
  }
}
