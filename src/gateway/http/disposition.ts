/**
 * The disposition that applies unless the query sets one. If `kind` is null, the response has no `Content-Disposition`
 * header by default.
 */
export interface DefaultDisposition {
  kind: 'attachment' | 'inline' | null
  name: string
}

/**
 * Returns the `Content-Disposition` header. The parameter `?filename=` sets the file name, and `?download=true` sets
 * the disposition `attachment`.
 */
export function dispositionHeader(
  query: URLSearchParams,
  standard: DefaultDisposition,
): { 'content-disposition'?: string } {
  const given = query.get('filename') ?? ''
  const kind = query.get('download') === 'true' ? 'attachment' : (standard.kind ?? (given === '' ? null : 'inline'))
  return kind === null ? {} : { 'content-disposition': disposition(kind, given === '' ? standard.name : given) }
}

/**
 * Formats the header as in RFC 6266. The header contains an ASCII file name for old clients. If the full name differs
 * from the ASCII name, the header contains the full name too.
 */
function disposition(kind: 'attachment' | 'inline', name: string): string {
  if (name === '') return kind
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  if (ascii === name) return `${kind}; filename="${name}"`
  const full = encodeURIComponent(name.toWellFormed()).replace(
    /[!'()*]/g,
    char => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${kind}; filename="${ascii}"; filename*=UTF-8''${full}`
}
