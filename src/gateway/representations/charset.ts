/// <reference path="../../../tools/html-encoding-sniffer.d.ts" />
import namedEncoding from 'html-encoding-sniffer'
import { beginsAsUtf8, markedEncoding } from './text-type.ts'

const NONE = 'none'
const XML = new Set(['text/xml', 'text/xsl'])
/** A rule at the very start of a style sheet. */
const CSS_CHARSET = /^@charset "[^"]+";/
/** Sequences that switch the alphabet in ISO-2022-JP and its relatives, whose bytes are all ASCII. */
const ESCAPES = ['\x1b$', '\x1b(']

/**
 * Returns the charset parameter for text of a media type. It is empty for text that names an encoding, or is neither
 * ASCII nor UTF-8 so far.
 *
 * @param isWhole true if the content has no further bytes
 */
export function charsetOf(type: string, start: Uint8Array, isWhole: boolean): string {
  if (namesEncoding(type, start)) return ''
  const bytes = Buffer.from(start.buffer, start.byteOffset, start.byteLength)
  const isPlain = beginsAsUtf8(start, isWhole) && !ESCAPES.some(sequence => bytes.includes(sequence))
  return isPlain ? '; charset=utf-8' : ''
}

function namesEncoding(type: string, start: Uint8Array): boolean {
  if (markedEncoding(start) !== null) return true
  if (type === 'text/css') return CSS_CHARSET.test(Buffer.from(start.subarray(0, 64)).toString('latin1'))
  const isXml = XML.has(type)
  return (isXml || type === 'text/html') && namedEncoding(start, { xml: isXml, defaultEncoding: NONE }) !== NONE
}
