import { fileTypeFromBuffer } from 'file-type'
import { isActive } from './active-type.ts'
import { charsetOf } from './charset.ts'
import { readText, typeOfText } from './text-type.ts'

const BINARY = 'application/octet-stream'

/**
 * Returns a `Content-Type`, with the charset of text.
 *
 * @param known media type, without parameters; null if the bytes have to tell it
 * @param start the first bytes of the content
 * @param isWhole true if the content has no further bytes
 */
export async function contentTypeOf(known: string | null, start: Uint8Array, isWhole: boolean): Promise<string> {
  const type = known ?? (await typeOfBytes(start, isWhole))
  return type.startsWith('text/') ? type + charsetOf(type, start, isWhole) : type
}

async function typeOfBytes(given: Uint8Array, isWhole: boolean): Promise<string> {
  // A copy, because bytes in pages of their own are read slowly one by one.
  const start = Buffer.from(given)
  const latin1 = start.toString('latin1')
  const other = NOT_OF_LIBRARY.find(([signature]) => signature.test(latin1))?.[1]
  if (other !== undefined) return other
  const text = readText(start, isWhole)
  // Any text can begin with the letters of a short signature, such as "BM" of a bitmap.
  if (text !== null && !TEXT_SIGNATURE.test(text)) return typeOfText(text, isWhole)
  return (await typeOfMedia(start, latin1)) ?? (text === null ? BINARY : 'text/plain')
}

/** Signatures that the library does not know, or not behind white space. Some consist of text. */
const NOT_OF_LIBRARY: ReadonlyArray<[signature: RegExp, type: string]> = [
  [/^(?:\xef\xbb\xbf)?[\t\n\f\r ]*%PDF-/, 'application/pdf'],
  [/^d(?:8:announce\d+:|13:announce-listll?\d+:)/, 'application/x-bittorrent'],
  [/^AT&TFORM.{4}DJV[IMU]/s, 'image/vnd.djvu'],
  [/^\.snd\0/, 'audio/basic'],
  [/^#\?RADIANCE\n/, 'image/vnd.radiance'],
  [/^\0\0\0\fJXS \r\n\x87\n/, 'image/jxs'],
]

/** Signatures that consist of text, which the library knows. */
const TEXT_SIGNATURE = /^(?:GIF8[79]a|%!PS-|\{\\rtf|WEBVTT(?:[\s]|$)|BEGIN:V(?:CARD|CALENDAR)\s)/

async function typeOfMedia(start: Uint8Array, latin1: string): Promise<string | null> {
  // The library would unpack the content to look for an archive in it, and answer the same.
  if (latin1.startsWith('\x1f\x8b')) return 'application/gzip'
  let type: string | undefined
  try {
    type = (await fileTypeFromBuffer(start))?.mime
  } catch {
    return BINARY
  }
  if (type === undefined) return CUT_OFF.find(([signature]) => latin1.startsWith(signature))?.[1] ?? null
  const isTold = DOUBTFUL.get(type)?.test(latin1) ?? !isActive(type)
  return isTold ? preferredType(type) : null
}

/** Returns the name by which browsers and other programs know a type best. */
export function preferredType(type: string): string {
  return PREFERRED.get(type) ?? type
}

/** Containers that the library does not recognise if their start is all that it has. */
const CUT_OFF: ReadonlyArray<[signature: string, type: string]> = [
  ['\x89PNG\r\n\x1a\n', 'image/png'],
  ['II*\0', 'image/tiff'],
  ['MM\0*', 'image/tiff'],
  ['\x1aE\xdf\xa3', 'video/matroska'],
  ['OggS', 'application/ogg'],
  ['ID3', 'audio/mpeg'],
  ['PK\x03\x04', 'application/zip'],
  ['\x30\x26\xb2\x75\x8e\x66\xcf\x11', 'video/x-ms-asf'],
]

/** Types that the library tells by too few bytes, with all that the content has to begin with. */
const DOUBTFUL: ReadonlyMap<string, RegExp> = new Map([
  ['image/gif', /^GIF8[79]a/],
  ['audio/aiff', /^FORM....AIF[CF]/s],
  // Data compressed by zlib, such as Git objects, begins with the same bytes.
  ['application/x-apple-diskimage', /^$/],
])

/** Names of the libraries, and the registered ones. */
const PREFERRED: ReadonlyMap<string, string> = new Map([
  ['audio/x-flac', 'audio/flac'],
  ['audio/x-m4a', 'audio/mp4'],
  ['text/x-vcard', 'text/vcard'],
  ['video/MP1S', 'video/mpeg'],
  ['video/MP2P', 'video/mpeg'],
])
