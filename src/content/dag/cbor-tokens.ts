import { DEEPEST_DOCUMENT, type DocumentToken } from './document-token.ts'

const LINK_TAG = 42
const MAJOR = { uint: 0, negative: 1, bytes: 2, text: 3, list: 4, map: 5, tag: 6, simple: 7 } as const

/**
 * Yields the tokens of a DAG-CBOR document of any size and depth, without building it.
 *
 * @throws Error at the first byte that is not DAG-CBOR, after all tokens before it
 */
export function* cborTokens(bytes: Uint8Array): Generator<DocumentToken, void, undefined> {
  const reader = new CborReader(bytes)
  // For each open container: its remaining items, keys included, and its type.
  const left: number[] = []
  const maps: boolean[] = []
  do {
    const isKey = maps.at(-1) === true && (left.at(-1) ?? 0) % 2 === 0
    if (left.length > 0) left[left.length - 1] = (left.at(-1) ?? 0) - 1
    const token = isKey ? reader.key() : reader.value()
    yield token
    if (token.kind === 'open') {
      left.push(token.isMap ? reader.length * 2 : reader.length)
      maps.push(token.isMap)
      if (left.length > DEEPEST_DOCUMENT) throw new Error('a document is too deep')
    }
    while (left.at(-1) === 0) {
      left.pop()
      yield { kind: 'close', isMap: maps.pop() === true }
    }
  } while (left.length > 0)
  if (!reader.isDone) throw new Error('bytes follow a CBOR document')
}

class CborReader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #at = 0
  #major = 0
  #info = 0
  #argument: number | bigint = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get isDone(): boolean {
    return this.#at === this.#bytes.length
  }

  /** Length of the bytes, text or container whose head was read last. */
  get length(): number {
    return Number(this.#argument)
  }

  key(): DocumentToken {
    this.#head()
    if (this.#major !== MAJOR.text) throw new Error('a CBOR key is no text')
    return { kind: 'key', name: this.#text() }
  }

  value(): DocumentToken {
    this.#head()
    switch (this.#major) {
      case MAJOR.uint:
        return { kind: 'value', value: this.#argument }
      case MAJOR.negative:
        return { kind: 'value', value: negative(this.#argument) }
      case MAJOR.bytes:
        return { kind: 'value', value: this.#take(this.length) }
      case MAJOR.text:
        return { kind: 'value', value: this.#text() }
      case MAJOR.list:
        return { kind: 'open', isMap: false }
      case MAJOR.map:
        return { kind: 'open', isMap: true }
      case MAJOR.tag:
        return this.#link()
      default:
        return { kind: 'value', value: this.#simple() }
    }
  }

  #head(): void {
    const [head = 0] = this.#take(1)
    this.#major = head >> 5
    this.#info = head & 31
    this.#argument = this.#info
    if (this.#info < 24) return
    if (this.#info > 27) throw new Error('CBOR of no definite length')
    if (this.#major === MAJOR.simple) return
    const size = 2 ** (this.#info - 24)
    const at = this.#at
    this.#take(size)
    if (size === 1) this.#argument = this.#view.getUint8(at)
    else if (size === 2) this.#argument = this.#view.getUint16(at)
    else if (size === 4) this.#argument = this.#view.getUint32(at)
    else this.#argument = plain(this.#view.getBigUint64(at))
  }

  #link(): DocumentToken {
    if (this.#argument !== LINK_TAG) throw new Error('a CBOR tag other than that of links')
    this.#head()
    if (this.#major !== MAJOR.bytes) throw new Error('a CBOR link is no bytes')
    const bytes = this.#take(this.length)
    if (bytes[0] !== 0) throw new Error('a CBOR link without its first zero')
    return { kind: 'link', link: bytes.subarray(1) }
  }

  #simple(): boolean | null | number {
    const at = this.#at
    switch (this.#info) {
      case 20:
        return false
      case 21:
        return true
      case 22:
        return null
      case 25:
        this.#take(2)
        return halfFloat(this.#view.getUint16(at))
      case 26:
        this.#take(4)
        return this.#view.getFloat32(at)
      case 27:
        this.#take(8)
        return this.#view.getFloat64(at)
      default:
        throw new Error('a CBOR value that documents do not have')
    }
  }

  #text(): string {
    return TEXT.decode(this.#take(this.length))
  }

  #take(length: number): Uint8Array {
    const end = this.#at + length
    if (end > this.#bytes.length) throw new Error('a CBOR document ends early')
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }
}

const TEXT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function plain(value: bigint): number | bigint {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value
}

function negative(argument: number | bigint): number | bigint {
  const value = -1n - BigInt(argument)
  return value >= BigInt(Number.MIN_SAFE_INTEGER) ? Number(value) : value
}

/** Decodes an IEEE 754 number of 16 bits. */
function halfFloat(bits: number): number {
  const exponent = (bits >> 10) & 31
  const fraction = bits & 1023
  const size =
    exponent === 0
      ? fraction * 2 ** -24
      : exponent === 31
        ? fraction === 0
          ? Number.POSITIVE_INFINITY
          : Number.NaN
        : (1024 + fraction) * 2 ** (exponent - 25)
  return bits >= 32768 ? -size : size
}
