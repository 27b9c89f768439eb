import { textOfBytes, textOfUnicode } from '../domain/byte-text.ts'
import { HoldfastError } from '../domain/errors.ts'
import { attributesOfQuery, type StoredAttributes } from '../domain/file-attributes.ts'

export interface PartHeaders {
  readonly name: string
  /** Attributes of the file, which the name of the part has as a query, as in the forms of Kubo: `file?mode=0644`. */
  readonly attributes: StoredAttributes
  /** True for the type `application/x-directory`, of a directory without content. */
  readonly isDirectory: boolean
  /** Text form of the file name as sent, including any directories. Its bytes may be no UTF-8. */
  readonly filename: string | undefined
  /** True if the part has a file name or the type `application/octet-stream`. */
  readonly isFile: boolean
}

export interface FormLimits {
  /** Files and text fields together. */
  maxParts: number
  /** Limit for each part. */
  maxHeaderBytes: number
  /** Maximum number of bytes before the first part, and also after the last part. */
  maxPaddingBytes: number
}

export const defaultFormLimits: FormLimits = {
  maxParts: 500_000,
  maxHeaderBytes: 16 * 1024,
  maxPaddingBytes: 1024 * 1024,
}

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
  const type = headers.get('content-type') ?? ''
  const octets = /^application\/octet-stream\b/i.test(type)
  const isDirectory = /^application\/x-directory\b/i.test(type)
  return {
    ...disposition,
    ...namedPart(disposition.name),
    isFile: disposition.filename !== undefined || octets,
    isDirectory,
  }
}

/** Splits the name of a file's part at its query. The names of other parts have none. */
function namedPart(name: string): Pick<PartHeaders, 'name' | 'attributes'> {
  const [, file, query] = /^(files?(?:\[\])?)\?(.*)$/s.exec(name) ?? []
  if (file === undefined || query === undefined) return { name, attributes: {} }
  return { name: file, attributes: attributesOfQuery(query, `${file}: `) }
}

interface Disposition {
  name: string
  filename: string | undefined
}

const KIND = 'form-data'
const EXTENDED = "utf-8'"

/**
 * Parses a `Content-Disposition: form-data` header, in which each character is one byte. Decodes only the escapes `%22`
 * and `\"`, because no client escapes `%` or a single backslash. `filename*` (RFC 8187) takes precedence over
 * `filename`.
 * Returns null for a malformed value. If a partial parse lost the name of a file, the file would be
 * treated as a text field.
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
  return { name: decodeName(name), filename: filename === undefined ? undefined : textOfBytes(bytesOf(filename)) }
}

function decodeName(raw: string): string {
  return bytesOf(raw).toString('utf8')
}

function bytesOf(raw: string): Buffer {
  return Buffer.from(raw.replaceAll(/%22|\\"/g, '"'), 'latin1')
}

/** Decodes a value such as `UTF-8'en'%e2%82%ac.txt`. Returns null if the value is malformed. */
function decodeExtended(value: string): string | null {
  if (value.slice(0, EXTENDED.length).toLowerCase() !== EXTENDED) return null
  const language = value.indexOf("'", EXTENDED.length)
  if (language === -1) return null
  try {
    // A NUL stays one, so that later checks find it.
    return textOfUnicode(decodeURIComponent(value.slice(language + 1))).replaceAll('\uef00', '\0')
  } catch {
    return null
  }
}

export function malformedForm(message: string): HoldfastError {
  return new HoldfastError('VALIDATION', message)
}

/** Throws if the type is not `multipart/form-data` or has no valid boundary. */
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

/** Shortens and quotes a name for an error message. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name)
}

const SPACE = new Set([' ', '\t', '\r', '\n'])

/**
 * Parses header parameters such as `; key=value; key="quoted value"` from `start`, in linear time.
 * The caller must decode the escapes `\"` and `\\` in quoted values. Many clients do not escape backslashes: if the
 * only possible closing quote follows a backslash, that quote ends the value.
 *
 * @returns the first value of each lower-case key, or null if the text is malformed
 */
function readParameters(text: string, start: number): Map<string, string> | null {
  const parameters = new Map<string, string>()
  let at = skipSpace(text, start)
  while (at < text.length) {
    if (text[at] !== ';') return null
    at = skipSpace(text, at + 1)
    // A semicolon at the end of the text is ignored.
    if (at === text.length) break
    const keyEnd = endOfToken(text, at, ';"=')
    const key = text.slice(at, keyEnd).toLowerCase()
    at = skipSpace(text, keyEnd)
    if (key === '' || text[at] !== '=') return null
    at = skipSpace(text, at + 1)
    const quoted = text[at] === '"'
    const end = quoted ? closingQuote(text, at + 1) : endOfToken(text, at, ';"')
    if (end === -1) return null
    if (!parameters.has(key)) parameters.set(key, text.slice(quoted ? at + 1 : at, end))
    at = skipSpace(text, quoted ? end + 1 : end)
  }
  return parameters
}

function skipSpace(text: string, start: number): number {
  let at = start
  while (SPACE.has(text[at] ?? '')) at++
  return at
}

function endOfToken(text: string, start: number, stops: string): number {
  let at = start
  while (at < text.length && !SPACE.has(text[at] ?? '') && !stops.includes(text[at] ?? '')) at++
  return at
}

function closingQuote(text: string, start: number): number {
  let escaped = -1
  for (let at = start; at < text.length; at++) {
    if (text[at] === '"') return at
    if (text[at] !== '\\') continue
    const next = text[at + 1]
    if (next !== '"' && next !== '\\') continue
    at++
    if (next === '"') escaped = at
  }
  return escaped
}
