import { extname } from 'node:path'
import mime from 'mime'
import { beginsAsJson } from './json-prefix.ts'

// Caches keep answers of version 0.3.0 for 336 days. Remove this file a year after the release of 0.4.0.

const BINARY = 'application/octet-stream'
const LOOKED_AT_BYTES = 512

/**
 * Returns the `Content-Type` that version 0.3.0 sent.
 *
 * @param start the first 512 bytes or more, or the whole content
 */
export function earlierType(name: string, start: Uint8Array): string {
  return earlierTypeOfName(name) ?? typeOfBytes(start.subarray(0, LOOKED_AT_BYTES))
}

/** Returns the `Content-Type` of version 0.3.0 for a known ending, or null. */
export function earlierTypeOfName(name: string): string | null {
  const type = extname(name) === '' ? null : mime.getType(name)
  if (type === null) return null
  return type.startsWith('text/') ? `${type}; charset=utf-8` : type
}

function typeOfBytes(start: Uint8Array): string {
  const bytes = Buffer.from(start.buffer, start.byteOffset, start.byteLength)
  const text = bytes.toString('latin1')
  const known = SIGNATURES.find(([offset, signature]) => text.startsWith(signature, offset))
  if (known !== undefined) return known[2]
  if (!isText(start)) return BINARY
  const readable = bytes.toString().replace(/^\uFEFF/, '')
  if (isSvg(readable)) return 'image/svg+xml'
  return beginsAsJson(readable, start.length < LOOKED_AT_BYTES) ? 'application/json' : 'text/plain; charset=utf-8'
}

/** Constructs that may precede the root element of an SVG. */
const PROLOGUE: ReadonlyArray<[begins: string, ends: string]> = [
  ['<?xml', '?>'],
  ['<!--', '-->'],
  ['<!doctype svg', '>'],
]

function isSvg(text: string): boolean {
  for (let rest = text.trimStart(); ; ) {
    const before = PROLOGUE.find(([begins]) => rest.slice(0, begins.length).toLowerCase() === begins)
    if (before === undefined) return /^<svg[\s/>]/.test(rest)
    const end = rest.indexOf(before[1])
    if (end === -1) return false
    rest = rest.slice(end + before[1].length).trimStart()
  }
}

/** File signatures, with one character per byte. The first match applies. */
const SIGNATURES: ReadonlyArray<[offset: number, bytes: string, type: string]> = [
  [0, '\x89PNG\r\n\x1a\n', 'image/png'],
  [0, '\xff\xd8\xff', 'image/jpeg'],
  [0, 'GIF87a', 'image/gif'],
  [0, 'GIF89a', 'image/gif'],
  [8, 'WEBP', 'image/webp'],
  [8, 'WAVE', 'audio/wav'],
  [4, 'ftypavif', 'image/avif'],
  [4, 'ftypM4A ', 'audio/mp4'],
  [4, 'ftypqt  ', 'video/quicktime'],
  [4, 'ftyp', 'video/mp4'],
  [0, '\x1aE\xdf\xa3', 'video/webm'],
  [0, 'OggS', 'application/ogg'],
  [0, 'fLaC', 'audio/flac'],
  [0, 'ID3', 'audio/mpeg'],
  [0, '%PDF-', 'application/pdf'],
  [0, 'PK\x03\x04', 'application/zip'],
  [0, '\x1f\x8b\x08', 'application/gzip'],
  [0, '\x00asm', 'application/wasm'],
  [0, 'wOF2', 'font/woff2'],
]

const CONTROL = new Set([...Array(32).keys()].filter(code => ![9, 10, 12, 13, 27].includes(code)))

function isText(start: Uint8Array): boolean {
  if (start.some(byte => CONTROL.has(byte))) return false
  // The last UTF-8 character may be truncated, so the check is repeated without the last one to three bytes.
  for (let cut = 0; cut < Math.min(4, start.length || 1); cut++) {
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(start.subarray(0, start.length - cut))
      return true
    } catch {
      if (start.length < LOOKED_AT_BYTES) return false
    }
  }
  return false
}
