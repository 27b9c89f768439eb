import { HoldfastError } from '../../domain/errors.ts'
import { parseAccept } from './accept.ts'

/** What a client asks for instead of what a browser would show. */
export type Format = 'raw' | 'car' | 'tar' | 'dag-json' | 'dag-cbor' | 'json' | 'cbor' | 'ipns-record'

export interface FormatChoice {
  format: Format
  /** Of the media type that was asked for, such as CAR's `dups`. */
  parameters: ReadonlyMap<string, string>
  /** Whether the URL itself says so, so that a cache can tell the representations apart. */
  inUrl: boolean
}

/** Media types by format, as requests and answers name them. */
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
/** In the query they have `car-` before them. */
export const CAR_PARAMETERS = ['version', 'order', 'dups'] as const
const NAMES = new Set<string>(Object.keys(MEDIA_TYPE))

/**
 * The format that `?format=`, else `Accept`, asks for; null for none in particular. Types that say nothing here, such
 * as those of pictures, are passed over; a browser's wish for HTML is none in particular.
 *
 * @throws HoldfastError `VALIDATION` for an unknown `?format=`, `NOT_ACCEPTABLE` if CAR is wanted only in ways that
 * there are not.
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
  if (refused) throw new HoldfastError('NOT_ACCEPTABLE', 'CAR comes in version 1, order dfs or unk, dups y or n')
  return null
}

/** Tells caches under which address a representation stands by itself, if the headers chose it. */
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

/** Whether CAR is there with these parameters; unknown ones are ignored. */
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
