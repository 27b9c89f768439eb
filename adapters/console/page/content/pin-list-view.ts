import { useEffect, useState } from 'preact/hooks'
import { SelectionBar } from '../bulk/selection-bar.ts' // feature: bulk
import { boxesOf } from '../bulk/selection-boxes.ts' // feature: bulk
import { useSelection } from '../bulk/use-selection.ts' // feature: bulk
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Card } from '../widgets/card.ts'
import { Choice } from '../widgets/field.ts'
import { Pager } from '../widgets/pager.ts'
import { useLoad } from '../widgets/use-load.ts'
import { EVERY_PIN, isNarrow, listOptionsOf, type PinFilter, PinFilters, usePaused } from './pin-filters.ts'
import { NO_BOXES, PinRows, RowSkeleton } from './pin-rows.ts'

const PAGE_SIZES = ['25', '100', '1000']
/** Interval of reloads while the list shows an unfinished pin. */
const LOOK_AGAIN_MS = 3_000

export interface PinListProps {
  /** The list reloads when this number changes. */
  changes?: number
  /** Another account, whose pins the owner of the node sees. Default: the account that is signed in. */
  of?: { id: string; email: string }
}

export function PinListView({ changes = 0, of }: PinListProps) {
  const { client } = useSession()
  const [filter, setFilter] = useState(EVERY_PIN)
  const [page, setPage] = useState(1)
  const [limit, setLimit] = useState(PAGE_SIZES[0] ?? '')
  const searched = usePaused(filter)
  const options = { ...listOptionsOf(searched), limit: Number(limit) }
  const { value, error, isLoading, reload } = useLoad(
    signal => {
      const asked = { ...options, signal }
      return of === undefined ? client.pins.page(page, asked) : client.owner.uploads(of.id, page, asked)
    },
    [client, page, limit, searched, changes, of?.id],
  )
  let boxes = NO_BOXES
  // feature: bulk
  const selecting = useSelection(value?.uploads ?? [])
  useEffect(selecting.clear, [searched])
  if (of === undefined) boxes = boxesOf(selecting)
  // end
  const isMoving = value?.uploads.some(({ status }) => status === 'queued' || status === 'pinning') ?? false
  useEffect(() => {
    if (!isMoving) return
    const timer = setTimeout(reload, LOOK_AGAIN_MS)
    return () => clearTimeout(timer)
  }, [value])
  const change = (changed: Partial<PinFilter>): void => {
    setFilter({ ...filter, ...changed })
    setPage(1)
  }
  const resize = (size: string): void => {
    setLimit(size)
    setPage(1)
  }
  return html`<${Card} title=${of === undefined ? 'Pins' : `Pins of ${of.email}`} count=${value?.total} error=${error}>
    <${PinFilters} filter=${filter} onChange=${change} />
    <div class="list" aria-busy=${isLoading ? 'true' : 'false'}>
      ${
        value !== undefined
          ? html`<${PinRows} rows=${value.uploads} boxes=${boxes} isOwn=${of === undefined} isFiltered=${isNarrow(filter)} sort=${filter.sort} onSort=${(sort: string) => change({ sort })} onChanged=${reload} />`
          : isLoading && html`<${RowSkeleton} />`
      }
    </div>
    ${/* feature: bulk */ of === undefined && value && html`<${SelectionBar} selecting=${selecting} options=${options} total=${value.total} />`}
    ${
      value &&
      html`<${Pager} page=${page} pages=${value.pagination.totalPages} onPage=${setPage}>
        ${
          value.total > Number(PAGE_SIZES[0]) &&
          html`<${Choice} label="Rows" value=${limit} onInput=${resize} options=${PAGE_SIZES.map(size => [size, size])} />`
        }
      </${Pager}>`
    }
  </${Card}>`
}
