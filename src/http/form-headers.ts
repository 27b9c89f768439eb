import { HoldfastError } from '../domain/errors.ts'
import { readParameters } from './header-parameters.ts'

/** The parsed headers of a form part. */
export interface PartHeaders {
  readonly name: string
  /** File name as the client sent it, including any directories. Undefined if the part has no file name. */
  readonly filename: string | undefined
  /** True if the part has a file name or the type `application/octet-stream`. */
  readonly isFile: boolean
}

export interface FormLimits {
  /** Maximum number of parts of a form, including files and text fields. */
  maxParts: number
  /** Maximum size in bytes of the headers of a part. */
  maxHeaderBytes: number
  /** Maximum number of bytes before the first part of a form. The same maximum applies after the last part. */
  maxPaddingBytes: number
}

export const defaultFormLimits: FormLimits = {
  maxParts: 500_000,
  maxHeaderBytes: 16 * 1024,
  maxPaddingBytes: 1024 * 1024,
}

/** Values of `Content-Transfer-Encoding` that do not change the content. */
const PLAIN_ENCODINGS: ReadonlySet<string> = new Set(['7bit', '8bit', 'binary'])
const FORM_TYPE = 'multipart/form-data'
const LONGEST_BOUNDARY = 200

/** Hint in error messages, for clients that do not escape names correctly. */
const READABLE = 'use form-data with a name, write a quote in a name as %22, and percent-encode filename* as UTF-8'

export function readHeaders(block: string, index: number): PartHeaders {
  const [padding, ...lines] = block.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')
  if (padding?.trim() !== '') throw malformedForm(`the delimiter of part ${index} of the form is malformed`)
  const headers = new Map<string, string>()
  for (const line of lines) {
    const [, key, value] = /^([^\s:]+)[ \t]*:([^\r\n\0]*)$/.exec(line) ?? []
    if (key === undefined || value === undefined || headers.has(key.toLowerCase())) {
      throw malformedForm(`the headers of part ${index} of the form are malformed`)
    }
    headers.set(key.toLowerCase(), value.trim())
  }
  const disposition = parseDisposition(headers.get('content-disposition') ?? '')
  if (disposition === null)
    throw malformedForm(`part ${index} of the form has no readable Content-Disposition: ${READABLE}`)
  const encoding = headers.get('content-transfer-encoding')?.toLowerCase()
  if (encoding !== undefined && !PLAIN_ENCODINGS.has(encoding)) {
    throw malformedForm(`part ${index} of the form must not have a Content-Transfer-Encoding`)
  }
  const octets = /^application\/octet-stream\b/i.test(headers.get('content-type') ?? '')
  return { ...disposition, isFile: disposition.filename !== undefined || octets }
}

/** The parsed `Content-Disposition` of a form part. */
interface Disposition {
  name: string
  /** File name as the client sent it, including any directories. Undefined if the header has no file name. */
  filename: string | undefined
}

const KIND = 'form-data'
const EXTENDED = "utf-8'"

/**
 * Parses a `Content-Disposition: form-data` header, in which each character is one byte of the request. Names are
 * decoded as UTF-8. Clients write a quote in a name as `%22` or `\"`. Other escapes are not decoded, because no client
 * escapes `%` or a single backslash. The parameter `filename*` (RFC 8187) is percent-encoded and takes precedence over
 * `filename`.
 *
 * Returns null if the value is malformed, is not `form-data`, or has no name. A malformed value is not parsed
 * partially, because a file whose name is lost would be treated as a text field.
 */
function parseDisposition(raw: string): Disposition | null {
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

/**
 * Decodes a value such as `UTF-8'en'%e2%82%ac.txt`, and ignores its language. Returns null if the value is malformed.
 */
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

export function malformedForm(message: string): HoldfastError {
  return new HoldfastError('VALIDATION', message)
}

/**
 * Returns the boundary in the `Content-Type` of a form. Throws if the type is not `multipart/form-data` or has no valid
 * boundary.
 */
export function boundaryOf(contentType: string | undefined): string {
  const mark = contentType?.indexOf(';') ?? -1
  const type = mark === -1 ? contentType : contentType?.slice(0, mark)
  if (contentType === undefined || type?.trim().toLowerCase() !== FORM_TYPE) {
    throw new HoldfastError('UNSUPPORTED_MEDIA_TYPE', `Content-Type must be ${FORM_TYPE}`)
  }
  const boundary = (mark === -1 ? null : readParameters(contentType, mark))?.get('boundary') ?? ''
  if (boundary.length === 0) throw malformedForm('Content-Type has no multipart boundary')
  if (boundary.length > LONGEST_BOUNDARY) throw malformedForm('the multipart boundary in Content-Type is too long')
  return boundary
}

/** Shortens and quotes a name from the client, for use in an error message. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name)
}
