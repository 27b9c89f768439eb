import { readFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { pseudoRandom } from '../../support/bytes.ts'

interface Kind {
  kind: string
  /** The first bytes, in base64. */
  start: string
  /** Each right type. */
  types: string[]
}

/** Kinds of files that people store without a name. */
export const KINDS: Kind[] = JSON.parse(readFileSync(new URL('./kinds.json', import.meta.url), 'utf8'))

/** A kind of file with its usual ending. */
export interface NamedKind {
  ending: string
  start: Buffer
  /** Types by name and by bytes. */
  types: readonly [ofName: string, ofBytes: string]
  /** Types that Kubo 0.40 tells by name and by bytes. */
  kubo: readonly [ofName: string, ofBytes: string]
}

const TEXT = '; charset=utf-8'
const OPEN_DOCUMENT = 'application/vnd.oasis.opendocument.text'
const WORD = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'

export const NAMED_KINDS: readonly NamedKind[] = [
  same('jpg', binary('\xff\xd8\xff\xe0\0\x10JFIF\0'), 'image/jpeg'),
  same('png', binary('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89'), 'image/png'),
  same('gif', binary('GIF89a\x01\0\x01\0'), 'image/gif'),
  same('webp', binary('RIFF\x24\0\0\0WEBPVP8 '), 'image/webp'),
  same('wav', binary('RIFF\x24\0\0\0WAVEfmt \x10\0\0\0'), 'audio/wav'),
  same('mp3', binary('ID3\x03\0\0\0\0\x1f\x76'), 'audio/mpeg'),
  same('ogg', binary(`OggS\0\x02${'\0'.repeat(22)}\x01vorbis\0\0`), 'audio/ogg'),
  same('mov', binary('\0\0\0\x14ftypqt  \0\0\0\0qt  '), 'video/quicktime'),
  same('mpg', binary('\0\0\x01\xba\x44\0\x04\0'), 'video/mpeg'),
  same('pdf', binary('%PDF-1.4\n%\xe2\xe3\xcf\xd3\n'), 'application/pdf'),
  same('epub', zipped('mimetype', 'application/epub+zip'), 'application/epub+zip'),
  same('odt', zipped('mimetype', OPEN_DOCUMENT), OPEN_DOCUMENT),
  same('docx', zipped('[Content_Types].xml', `<Types><Override ContentType="${WORD}.main+xml"/></Types>`), WORD),
  same('apk', zipped('classes.dex', 'x'), 'application/vnd.android.package-archive'),
  same('tar', archived('a.txt'), 'application/x-tar'),
  same('woff2', binary('wOF2\0\x01\0\0'), 'font/woff2'),
  same('wasm', binary('\0asm\x01\0\0\0'), 'application/wasm'),
  same('torrent', binary('d8:announce20:http://tracker.x/ann4:info'), 'application/x-bittorrent'),
  same('djvu', binary('AT&TFORM\0\0\x01\0DJVUINFO'), 'image/vnd.djvu'),
  same('au', binary('.snd\0\0\0\x18'), 'audio/basic'),
  same('jxs', binary('\0\0\0\x0cJXS \r\n\x87\n'), 'image/jxs'),
  same('hdr', binary('#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n'), 'image/vnd.radiance'),
  same('ps', Buffer.from('%!PS-Adobe-3.0\n'), 'application/postscript'),
  same('svg', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/svg+xml'),
  same('json', Buffer.from('{"a":1}'), 'application/json'),
  same('txt', Buffer.from('hello'), `text/plain${TEXT}`),
  {
    ending: 'jar',
    start: zipped('META-INF/MANIFEST.MF', 'Manifest-Version: 1.0'),
    types: ['application/java-archive', 'application/java-archive'],
    kubo: ['application/x-java-archive', 'application/java-archive'],
  },
  {
    ending: 'ttf',
    start: binary('\0\x01\0\0\0\x0f\0\x80'),
    types: ['font/ttf', 'font/ttf'],
    kubo: ['font/ttf', 'application/octet-stream'],
  },
  {
    ending: 'wmv',
    start: Buffer.concat([Buffer.from('3026b2758e66cf11a6d900aa0062ce6c', 'hex'), Buffer.alloc(20)]),
    types: ['video/x-ms-wmv', 'application/vnd.ms-asf'],
    kubo: ['video/x-ms-wmv', 'video/x-ms-asf'],
  },
  {
    ending: 'ics',
    start: Buffer.from('BEGIN:VCALENDAR\r\nVERSION:2.0\r\n'),
    types: [`text/calendar${TEXT}`, `text/calendar${TEXT}`],
    kubo: [`text/calendar${TEXT}`, 'text/calendar'],
  },
  {
    ending: 'vtt',
    start: Buffer.from('WEBVTT\n\n'),
    types: [`text/vtt${TEXT}`, `text/vtt${TEXT}`],
    kubo: [`text/vtt${TEXT}`, 'text/vtt'],
  },
  {
    ending: 'md',
    start: Buffer.from('# Title'),
    types: [`text/markdown${TEXT}`, `text/plain${TEXT}`],
    kubo: [`text/markdown${TEXT}`, `text/plain${TEXT}`],
  },
]

function same(ending: string, start: Buffer, type: string): NamedKind {
  return { ending, start, types: [type, type], kubo: [type, type] }
}

/** Returns a signature, with one character per byte, and more bytes. */
function binary(signature: string): Buffer {
  return Buffer.concat([Buffer.from(signature, 'latin1'), pseudoRandom(600, signature)])
}

function zipped(name: string, content: string): Buffer {
  const head = Buffer.alloc(30)
  head.writeUInt32LE(0x0403_4b50, 0)
  head.writeUInt16LE(20, 4)
  head.writeUInt32LE(crc32(content), 14)
  head.writeUInt32LE(content.length, 18)
  head.writeUInt32LE(content.length, 22)
  head.writeUInt16LE(name.length, 26)
  return Buffer.concat([head, Buffer.from(name + content)])
}

function archived(name: string): Buffer {
  const head = Buffer.alloc(512)
  for (const [at, text] of [
    [0, name],
    [100, '0000644\0'],
    [124, '00000000001\0'],
    [148, '        '],
    [156, '0'],
    [257, 'ustar\x0000'],
  ] as const) {
    head.write(text, at)
  }
  const sum = head.reduce((total, byte) => total + byte, 0)
  head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([head, Buffer.alloc(512, 'x')])
}
