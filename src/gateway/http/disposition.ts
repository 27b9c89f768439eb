import { shownText } from '../../domain/byte-text.ts'

/** Disposition of a response whose query sets none. If `kind` is null, the response has no such header. */
export interface DefaultDisposition {
  kind: 'attachment' | 'inline' | null
  /** Text form. */
  name: string
}

/** Returns the header. In the query, `filename` sets the file name and `download=true` the kind `attachment`. */
export function dispositionHeader(
  query: URLSearchParams,
  standard: DefaultDisposition,
): { 'content-disposition'?: string } {
  const given = query.get('filename') ?? ''
  const kind = query.get('download') === 'true' ? 'attachment' : (standard.kind ?? (given === '' ? null : 'inline'))
  return kind === null ? {} : { 'content-disposition': disposition(kind, given === '' ? standard.name : given) }
}

/** Formats the header as in RFC 6266, with an ASCII file name for old clients. */
function disposition(kind: 'attachment' | 'inline', stored: string): string {
  const name = shownText(stored)
  if (name === '') return kind
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  if (ascii === name) return `${kind}; filename="${name}"`
  const full = encodeURIComponent(name.toWellFormed()).replace(
    /[!'()*]/g,
    char => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${kind}; filename="${ascii}"; filename*=UTF-8''${full}`
}
