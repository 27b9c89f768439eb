/** What is sent where the query does not say otherwise; `kind` null for no header at all. */
export interface DefaultDisposition {
  kind: 'attachment' | 'inline' | null
  name: string
}

/**
 * The header by which a browser saves or shows content, and under which name. `?filename=` gives the name,
 * `?download=true` makes it an attachment.
 */
export function dispositionHeader(
  query: URLSearchParams,
  standard: DefaultDisposition,
): { 'content-disposition'?: string } {
  const given = query.get('filename') ?? ''
  const kind = query.get('download') === 'true' ? 'attachment' : (standard.kind ?? (given === '' ? null : 'inline'))
  return kind === null ? {} : { 'content-disposition': disposition(kind, given === '' ? standard.name : given) }
}

/** RFC 6266: the name in ASCII for old readers, and in full where that is another. */
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
