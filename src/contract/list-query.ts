import type { PageRequest } from '../catalogue/page.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { ListQuery } from '../pins/pin-types.ts'
import { metaOf } from './form-fields.ts'
import { present } from './request-target.ts'

const ROWS = 100
const MOST_ROWS = 1_000

/** @throws HoldfastError `VALIDATION` for an invalid limit */
export function pageRequest(query: URLSearchParams): PageRequest {
  return { after: query.get('after'), limit: Math.min(positiveInteger(query, 'limit') ?? ROWS, MOST_ROWS) }
}

/**
 * Parses a positive integer, clipped to `Number.MAX_SAFE_INTEGER`. Returns undefined if the parameter is missing.
 *
 * @throws HoldfastError `VALIDATION` for any other value
 */
export function positiveInteger(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  if (!/^0*[1-9]\d*$/.test(text)) throw new HoldfastError('VALIDATION', `${name} must be a positive integer`)
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
}

/** Parses the search parameters of a list. The search itself validates the values. */
export function askedSearch(query: URLSearchParams): Partial<ListQuery> {
  const given = {
    q: query.get('q') || undefined,
    name: query.get('name') || undefined,
    match: present(query.get('match')),
    meta: metaOf(query.get('meta')),
    type: listOf(query.get('type')),
    status: listOf(query.get('status')),
    visibility: present(query.get('visibility')),
    before: present(query.get('before')),
    after: present(query.get('after')),
    sort: present(query.get('sort')),
  }
  return given as Partial<ListQuery>
}

function listOf(text: string | null): string[] | undefined {
  return present(text)
    ?.split(',')
    .map(word => word.trim())
}
