/** What a form part says about itself. */
export interface Disposition {
  name: string
  /** As sent: paths are kept and nothing is normalised. Undefined for a part that is no file. */
  filename: string | undefined
}

const PARAMETER = /;\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(?:"((?:\\["\\]|[^"])*)"|([^\s;"]*))/gy

/**
 * Reads a `Content-Disposition: form-data` value given as raw bytes, one per character, and decodes names as UTF-8.
 * Clients write a quote in a name as `%22` or `\"`; only these two are decoded, since none of them escapes `%` or a
 * lone backslash. Null for anything that is not form data with a name.
 */
export function parseDisposition(raw: string): Disposition | null {
  const kind = /^\s*form-data\s*(?=;|$)/i.exec(raw)
  if (kind === null) return null
  const parameters = new Map<string, string>()
  PARAMETER.lastIndex = kind[0].length
  let end = kind[0].length
  for (let match = PARAMETER.exec(raw); match !== null; match = PARAMETER.exec(raw)) {
    end = PARAMETER.lastIndex
    const key = (match[1] ?? '').toLowerCase()
    if (!parameters.has(key)) parameters.set(key, match[2] === undefined ? (match[3] ?? '') : match[2])
  }
  // Whatever could not be read might have been the file name: refuse it instead of taking the file for a field.
  if (!/^[\s;]*$/.test(raw.slice(end))) return null
  const name = parameters.get('name')
  if (name === undefined) return null
  const filename = parameters.get('filename')
  return { name: decodeName(name), filename: filename === undefined ? undefined : decodeName(filename) }
}

function decodeName(raw: string): string {
  const text = Buffer.from(raw, 'latin1').toString('utf8')
  return text.replaceAll(/%22|\\"/g, '"')
}
