import type { ListQuery } from '../pins/pin-types.ts'
import { metaOf } from './form-fields.ts'
import { present } from './request-target.ts'

/** Parses a list's search from a query. The search itself validates the values. */
export function askedSearch(query: URLSearchParams): Partial<ListQuery> {
  const given = {
    q: query.get('q') || undefined,
    name: query.get('name') || undefined,
    match: present(query.get('match')),
    meta: metaOf(query.get('meta')),
    type: listOf(query.get('type')),
    status: listOf(query.get('status')),
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
