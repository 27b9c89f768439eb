import { readParameters } from './header-parameters.ts'

/** The parsed `Content-Disposition` of a form part. */
export interface Disposition {
  name: string
  /** Unmodified, with its path. Undefined for a part that is not a file. */
  filename: string | undefined
}

const KIND = 'form-data'
const EXTENDED = "utf-8'"

/**
 * Parses a `Content-Disposition: form-data` header of raw bytes, one per character. Decodes names as UTF-8. Clients
 * write a quote in a name as `%22` or `\"`. Only these two are decoded, because no client escapes `%` or a lone
 * backslash. `filename*` (RFC 8187) is percent-encoded and has priority.
 *
 * Returns null for other headers, for a missing name, and for a malformed value. Such a value might hold the file name,
 * and a file without one would count as a field.
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

/** Decodes a value such as `UTF-8'en'%e2%82%ac.txt`. Ignores the language. */
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
