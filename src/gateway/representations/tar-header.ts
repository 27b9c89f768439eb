import { isUtf8 } from 'node:buffer'
import type { Attributes } from '../../content/unixfs/attributes.ts'
import { bytesOfText } from '../../domain/byte-text.ts'

export interface TarEntry extends Attributes {
  /** Text form. The path of a directory ends with `/`. */
  name: string
  type: 'file' | 'directory' | 'symlink'
  /** In bytes; 0 if the entry is not a file. */
  size: number
  /** Text form. */
  target?: string
}

const TAR_BLOCK_BYTES = 512

const TYPE_FLAG = { file: '0', symlink: '2', directory: '5' } as const
/** Permissions of content that stores none. */
const MODE = { file: 0o644, symlink: 0o777, directory: 0o755 } as const
const LONGEST_NAME = 100
/** Largest number that a field of eleven octal digits holds. */
const LARGEST_NUMBER = 8 ** 11 - 1

/**
 * Returns the POSIX header, after an extended header for long or non-ASCII names and sizes of 8 GiB or more. The
 * time is zero if the content stores none, so equal content gives equal archives.
 */
export function tarHeader(entry: TarEntry): Uint8Array {
  const extended: [key: string, value: Uint8Array][] = []
  const fits = (text: string): boolean => text.length <= LONGEST_NAME && /^[\x20-\x7e]*$/.test(text)
  if (!fits(entry.name)) extended.push(['path', bytesOfText(entry.name)])
  if (!fits(entry.target ?? '')) extended.push(['linkpath', bytesOfText(entry.target ?? '')])
  // Without this record, readers may decode the values as UTF-8.
  if (extended.some(([, value]) => !isUtf8(value))) extended.unshift(['hdrcharset', Buffer.from('BINARY')])
  if (entry.size > LARGEST_NUMBER) extended.push(['size', Buffer.from(String(entry.size))])
  const header = plainHeader(entry, TYPE_FLAG[entry.type])
  if (extended.length === 0) return header
  const records = Buffer.concat(extended.map(([key, value]) => record(key, value)))
  const before = plainHeader({ name: 'PaxHeader', type: 'file', size: records.length }, 'x')
  return Buffer.concat([before, records, tarPadding(records.length), header])
}

export function tarPadding(size: number): Uint8Array {
  return Buffer.alloc((TAR_BLOCK_BYTES - (size % TAR_BLOCK_BYTES)) % TAR_BLOCK_BYTES)
}

export function tarEnd(): Uint8Array {
  return Buffer.alloc(2 * TAR_BLOCK_BYTES)
}

function plainHeader({ name, type, size, target = '', mode = MODE[type], mtime = 0 }: TarEntry, flag: string): Buffer {
  const header = Buffer.alloc(TAR_BLOCK_BYTES)
  header.write(ascii(name), 0, LONGEST_NAME, 'latin1')
  header.write(`${(mode & 0o777).toString(8).padStart(7, '0')}\0`, 100, 'latin1')
  header.write('0000000\0', 108, 'latin1')
  header.write('0000000\0', 116, 'latin1')
  header.write(`${octal(size > LARGEST_NUMBER ? 0 : size)}\0`, 124, 'latin1')
  const seconds = Math.floor(mtime / 1000)
  header.write(`${octal(seconds > LARGEST_NUMBER ? 0 : seconds)}\0`, 136, 'latin1')
  header.write('        ', 148, 'latin1')
  header.write(flag, 156, 'latin1')
  header.write(ascii(target), 157, LONGEST_NAME, 'latin1')
  header.write('ustar\x0000', 257, 'latin1')
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return header
}

/** Formats a record of an extended header. Its length includes the digits of the length. */
function record(key: string, value: Uint8Array): Uint8Array {
  const length = ` ${key}=\n`.length + value.length
  const digits = String(length + String(length).length).length
  return Buffer.concat([Buffer.from(`${length + digits} ${key}=`), value, Buffer.from('\n')])
}

function ascii(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '_')
}

function octal(value: number): string {
  return value.toString(8).padStart(11, '0')
}
