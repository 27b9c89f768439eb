import { HoldfastError } from '../../domain/errors.ts'

export type Format = 'raw' | 'car' | 'tar' | 'dag-json' | 'dag-cbor' | 'json' | 'cbor' | 'ipns-record'

export interface FormatChoice {
  format: Format
  /** Parameters of the media type, such as `dups` of a CAR. */
  parameters: ReadonlyMap<string, string>
  /** True if the URL names the format, so caches store each format separately. */
  inUrl: boolean
}

export const MEDIA_TYPE: Readonly<Record<Format, string>> = {
  raw: 'application/vnd.ipld.raw',
  car: 'application/vnd.ipld.car',
  tar: 'application/x-tar',
  'dag-json': 'application/vnd.ipld.dag-json',
  'dag-cbor': 'application/vnd.ipld.dag-cbor',
  json: 'application/json',
  cbor: 'application/cbor',
  'ipns-record': 'application/vnd.ipfs.ipns-record',
}

const FORMATS = new Map(Object.entries(MEDIA_TYPE).map(([format, type]) => [type, format as Format]))
/** In the query, each name has the prefix `car-`. */
export const CAR_PARAMETERS = ['version', 'order', 'dups'] as const
const NAMES = new Set<string>(Object.keys(MEDIA_TYPE))

/**
 * Chooses the format by `?format=`, or else by `Accept`. Returns null for the default representation: if the request
 * names no known format or prefers HTML.
 *
 * @throws HoldfastError `VALIDATION` for an unknown `?format=`; `NOT_ACCEPTABLE` for an unsupported CAR variant
 */
export function chooseFormat(query: URLSearchParams, accept: string | undefined): FormatChoice | null {
  const named = query.get('format')
  const wanted = parseAccept(accept)
  if (named !== null) {
    if (!isFormat(named)) {
      throw new HoldfastError('VALIDATION', `format must be one of ${[...NAMES].join(', ')}`)
    }
    const parameters = wanted.find(({ type }) => type === MEDIA_TYPE[named])?.parameters ?? new Map()
    return { format: named, parameters, inUrl: true }
  }
  let refused = false
  for (const { type, parameters } of wanted) {
    if (type === 'text/html') return null
    const format = FORMATS.get(type)
    if (format === undefined) continue
    if (format !== 'car' || isKnownCar(parameters)) return { format, parameters, inUrl: false }
    refused = true
  }
  if (refused)
    throw new HoldfastError(
      'NOT_ACCEPTABLE',
      'CAR is available only in version 1, with order dfs or unk and dups y or n',
    )
  return null
}

/** Returns a header whose URL names the format, unless the request URL already does. */
export function contentLocation(query: string, choice: FormatChoice | null): { 'content-location'?: string } {
  if (choice === null || choice.inUrl) return {}
  const own = new URLSearchParams(query)
  own.set('format', choice.format)
  for (const name of choice.format === 'car' ? CAR_PARAMETERS : []) {
    const value = choice.parameters.get(name)
    if (value !== undefined && !own.has(`car-${name}`)) own.set(`car-${name}`, value)
  }
  return { 'content-location': `?${own}` }
}

export function isKnownCar(parameters: ReadonlyMap<string, string>): boolean {
  return (
    ['1', undefined].includes(parameters.get('version')) &&
    ['dfs', 'unk', '', undefined].includes(parameters.get('order')) &&
    ['y', 'n', undefined].includes(parameters.get('dups'))
  )
}

function isFormat(name: string): name is Format {
  return NAMES.has(name)
}

interface AcceptedType {
  /** Media type in lower case, without parameters. */
  type: string
  parameters: ReadonlyMap<string, string>
  quality: number
}

function parseAccept(header: string | undefined): AcceptedType[] {
  if (header === undefined) return []
  return header
    .split(',')
    .map(parseType)
    .filter(({ type, quality }) => type !== '' && quality > 0)
    .sort((a, b) => b.quality - a.quality)
}

export function wantsHtml(header: string | undefined): boolean {
  return parseAccept(header).some(({ type }) => type === 'text/html')
}

function parseType(text: string): AcceptedType {
  const [type = '', ...rest] = text.split(';').map(part => part.trim())
  const parameters = new Map(
    rest.map(part => {
      const [name = '', value = ''] = part.split('=').map(piece => piece.trim())
      return [name.toLowerCase(), value.replace(/^"(.*)"$/, '$1')]
    }),
  )
  const quality = Number(parameters.get('q') ?? 1)
  return { type: type.toLowerCase(), parameters, quality: Number.isFinite(quality) ? quality : 0 }
}
