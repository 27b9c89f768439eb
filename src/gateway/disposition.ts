/**
 * The header by which a browser saves or shows content under a name: for `?filename=`, and for `?download=true` as
 * an attachment. None without either.
 *
 * @param fallback the name if the query has none
 */
export function attachment(query: URLSearchParams, fallback: string): { 'content-disposition'?: string } {
  const download = query.get('download') === 'true'
  const given = query.get('filename') ?? ''
  if (!download && given === '') return {}
  return { 'content-disposition': disposition(download ? 'attachment' : 'inline', given === '' ? fallback : given) }
}

/** RFC 6266: the name in ASCII for old readers, and in full. */
export function disposition(kind: 'attachment' | 'inline', name: string): string {
  if (name === '') return kind
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const full = encodeURIComponent(name.toWellFormed()).replace(
    /[!'()*]/g,
    char => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${kind}; filename="${ascii}"; filename*=UTF-8''${full}`
}
