import { buffer } from 'node:stream/consumers'
import { textOfBytes } from '../../src/domain/byte-text.ts'
import { HoldfastError } from '../../src/domain/errors.ts'

const BLOCK_BYTES = 512
/** Maximum size of an extended header, which holds a path. */
const MOST_HEADER_BYTES = 256 * 1024

export interface TarFile {
  /** Text form of the path in the archive, which may lead anywhere. */
  path: string
  kind: 'file' | 'directory' | 'symlink'
  /** Permissions, without setuid, setgid and sticky. */
  mode: number
  /** Time of the last modification in seconds since the epoch; 0 if the archive has none. */
  mtime: number
  /** Bytes of a file. Must be read before the next entry. */
  bytes: AsyncIterable<Uint8Array>
}

const KINDS: Readonly<Record<string, TarFile['kind']>> = { '0': 'file', '\0': 'file', '2': 'symlink', '5': 'directory' }

/** Yields the entries of a TAR. @throws HoldfastError `UNAVAILABLE` if the archive is damaged or ends early */
export async function* readTar(archive: AsyncIterable<Uint8Array>): AsyncGenerator<TarFile, void> {
  const pieces = archive[Symbol.asyncIterator]()
  let rest: Uint8Array = new Uint8Array()
  async function* take(size: number): AsyncGenerator<Uint8Array, void> {
    for (let left = size; left > 0; ) {
      if (rest.length === 0) {
        const { done, value } = await pieces.next()
        if (done) throw damaged('it ends early')
        rest = value
      }
      const piece = rest.subarray(0, left)
      rest = rest.subarray(piece.length)
      left -= piece.length
      yield piece
    }
  }
  const whole = async (size: number): Promise<Buffer> => buffer(take(size))
  let extended: ReadonlyMap<string, string> = new Map()
  try {
    for (let header = await whole(BLOCK_BYTES); header.some(byte => byte !== 0); header = await whole(BLOCK_BYTES)) {
      checkSum(header)
      const type = header.toString('latin1', 156, 157)
      const given = sizeOf(extended.get('size') ?? textAt(header, 124, 12).trim(), extended.has('size') ? 10 : 8)
      // No bytes follow the header of a directory or a link, even if the header has a size.
      const size = type === '2' || type === '5' ? 0 : given
      if (type === 'x') {
        if (size > MOST_HEADER_BYTES) throw damaged('a header is too long')
        extended = recordsOf(await whole(size))
      } else {
        const kind = KINDS[type]
        if (kind === undefined) throw damaged(`an entry has the unknown type ${JSON.stringify(type)}`)
        const prefix = textAt(header, 345, 155)
        const path = extended.get('path') ?? (prefix === '' ? '' : `${prefix}/`) + textAt(header, 0, 100)
        const mode = (Number.parseInt(textAt(header, 100, 8), 8) || 0) & 0o777
        const mtime = Number(extended.get('mtime') ?? Number.parseInt(textAt(header, 136, 12), 8)) || 0
        extended = new Map()
        yield { path, kind, mode, mtime, bytes: take(size) }
      }
      await whole((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES)
    }
  } finally {
    await pieces.return?.()
  }
}

function checkSum(header: Buffer): void {
  const sum = header.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0)
  if (Number.parseInt(textAt(header, 148, 8).trim(), 8) !== sum) throw damaged('a header has a wrong checksum')
}

function sizeOf(text: string, base: 8 | 10): number {
  const size = /^\d*$/.test(text) ? Number.parseInt(text || '0', base) : Number.NaN
  if (!Number.isSafeInteger(size)) throw damaged('an entry has no size')
  return size
}

/** Reads the records `LENGTH KEY=VALUE` of an extended header. */
function recordsOf(header: Buffer): Map<string, string> {
  const records = new Map<string, string>()
  for (let at = 0; at < header.length; ) {
    // A length has six digits at most. A longer search would take quadratic time.
    const [start = '', digits = ''] = /^(\d{1,6}) /.exec(header.toString('latin1', at, at + 7)) ?? []
    const end = at + Number(digits)
    if (end <= at + start.length || end > header.length) throw damaged('a header has a wrong record')
    const [key = '', ...value] = textOfBytes(header.subarray(at + start.length, end - 1)).split('=')
    records.set(key, value.join('='))
    at = end
  }
  return records
}

function textAt(header: Buffer, start: number, length: number): string {
  const field = header.subarray(start, start + length)
  const end = field.indexOf(0)
  return textOfBytes(end === -1 ? field : field.subarray(0, end))
}

function damaged(reason: string): HoldfastError {
  return new HoldfastError('UNAVAILABLE', `the archive cannot be unpacked: ${reason}`)
}
