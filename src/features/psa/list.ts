import { metaOf } from '../../contract/form-fields.ts'
import { positiveInteger } from '../../contract/list-query.ts'
import { present } from '../../contract/request-target.ts'
import type { Services } from '../../contract/services.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { ListItem, ListQuery } from '../../pins/pin-types.ts'

const LIMIT = 10
const MOST = 1_000

/** Parses the query of a Pinning Service API list. The list search validates the values. */
export function psaQuery(query: URLSearchParams): ListQuery & { limit: number } {
  const limit = positiveInteger(query, 'limit') ?? LIMIT
  if (limit > MOST) throw new HoldfastError('VALIDATION', `limit must be at most ${MOST}`)
  const cids = present(query.get('cid'))?.split(',')
  const name = query.get('name') || undefined
  const meta = metaOf(query.get('meta'))
  // The specification says: "When no filter is provided, only successful pins are returned". `before` and `after` are
  // no filters, because clients use them for paging.
  const unfiltered = cids === undefined && name === undefined && meta === undefined ? ['pinned'] : undefined
  const given = {
    limit,
    cids,
    name,
    meta,
    status: present(query.get('status'))?.split(',') ?? unfiltered,
    match: present(query.get('match')),
    before: present(query.get('before')),
    after: present(query.get('after')),
  }
  return given as ListQuery & { limit: number }
}

/**
 * Returns the newest matching pins. A page must not split pins of the same time, because clients page by that time.
 * Only the first group of equal times may exceed the limit.
 */
export async function psaPageOf(
  pins: Services['pins'],
  account: string,
  query: ListQuery & { limit: number },
): Promise<{ count: number; items: readonly ListItem[] }> {
  const { count, items, tiedAt } = await firstOf(pins, account, query)
  if (tiedAt === null) return { count, items }
  // One page has them, unless the plan allows only shorter ones. Nothing is held while it waits for its turn.
  const tied: ListItem[] = []
  for (let page = 1, last = 1; page <= last; page++) {
    const more = await pins.list({ ...query, account, before: tiedAt + 1, after: tiedAt - 1, page, limit: MOST })
    tied.push(...more.items)
    last = more.totalPages
  }
  return { count, items: tied }
}

/** Returns no items if the page must have all pins of the instant `tiedAt`. */
async function firstOf(
  pins: Services['pins'],
  account: string,
  query: ListQuery & { limit: number },
): Promise<{ count: number; items: readonly ListItem[]; tiedAt: number | null }> {
  const { items, total: count, limit } = await pins.list({ ...query, account, limit: query.limit + 1 })
  const isAll = items.length === count || items.length < limit
  if (isAll && items.length <= query.limit) return { count, items, tiedAt: null }
  const next = items.at(-1)?.createdAt ?? 0
  const earlier = items.filter(({ createdAt }) => createdAt > next).slice(0, query.limit)
  return { count, items: earlier, tiedAt: earlier.length > 0 ? null : next }
}
