import { useEffect, useState } from 'preact/hooks'
import { shownText } from '../../../../src/domain/byte-text.ts'
import type { ListedUpload, ListOptions, PinState, Upload } from '../../../client/index.ts'
import { SelectionBar } from '../bulk/selection-bar.ts' // feature: bulk
import { boxesOf } from '../bulk/selection-boxes.ts' // feature: bulk
import { useSelection } from '../bulk/use-selection.ts' // feature: bulk
import { html } from '../markup.ts'
import { routeTo } from '../page-route.ts'
import { useSession } from '../session.ts'
import { PrivateBadge, StateBadge } from '../widgets/badge.ts'
import { Choice, FieldProblem } from '../widgets/field.ts'
import { Pager } from '../widgets/pager.ts'
import { formatAge, formatInstant, shortCid, shownBytes, shownCount } from '../widgets/shown-values.ts'
import { useLoad } from '../widgets/use-load.ts'
import { useNow } from '../widgets/use-now.ts'
import { RowMenu } from './row-menu.ts'
import { SortHead } from './sort-head.ts'
import { READER_CHOICES } from './target-fields.ts'

/** An empty value means no filter. */
interface Filter {
  q: string
  status: string
  type: string
  ends: string
  readers: string
  sort: string
}

const EVERYTHING: Filter = { q: '', status: '', type: '', ends: '', readers: '', sort: 'newest' }
const PAGE_SIZES = ['25', '100', '1000']
/** Pause in typing after which the search starts. */
const TYPING_MS = 250
/** Interval of reloads while the list shows an unfinished pin. */
const LOOK_AGAIN_MS = 3_000

/** Cells that features put before the names of the rows. */
interface RowBoxes {
  all: (rows: readonly ListedUpload[]) => unknown
  one: (row: ListedUpload) => unknown
}

const NO_BOXES: RowBoxes = { all: () => null, one: () => null }

/** Reloads when the number `changes` changes. */
export function PinListView({ changes = 0 }: { changes?: number }) {
  const { client } = useSession()
  const [filter, setFilter] = useState(EVERYTHING)
  const [page, setPage] = useState(1)
  const [limit, setLimit] = useState(PAGE_SIZES[0] ?? '')
  const searched = usePaused(filter)
  const options = { ...optionsOf(searched), limit: Number(limit) }
  const { value, error, isLoading, reload } = useLoad(
    signal => client.pins.page(page, { ...options, signal }),
    [client, page, limit, searched, changes],
  )
  let boxes = NO_BOXES
  // feature: bulk
  const selecting = useSelection(value?.uploads ?? [])
  useEffect(selecting.clear, [searched])
  boxes = boxesOf(selecting)
  // end
  const isMoving = value?.uploads.some(({ status }) => status === 'queued' || status === 'pinning') ?? false
  useEffect(() => {
    if (!isMoving) return
    const timer = setTimeout(reload, LOOK_AGAIN_MS)
    return () => clearTimeout(timer)
  }, [value])
  const change = (changed: Partial<Filter>): void => {
    setFilter({ ...filter, ...changed })
    setPage(1)
  }
  const resize = (size: string): void => {
    setLimit(size)
    setPage(1)
  }
  return html`<section class="card" aria-labelledby="list-title">
    <h2 id="list-title">Pins ${value && html`<span class="count">${shownCount(value.total)}</span>`}</h2>
    <${Filters} filter=${filter} onChange=${change} />
    <${FieldProblem} text=${error} />
    <div class="list" aria-busy=${isLoading ? 'true' : 'false'}>
      ${
        value !== undefined
          ? html`<${Rows} rows=${value.uploads} boxes=${boxes} isFiltered=${isNarrow(filter)} sort=${filter.sort} onSort=${(sort: string) => change({ sort })} onChanged=${reload} />`
          : isLoading && html`<${Skeleton} />`
      }
    </div>
    ${/* feature: bulk */ value && html`<${SelectionBar} selecting=${selecting} options=${options} total=${value.total} />`}
    ${
      value &&
      html`<${Pager} page=${page} pages=${value.pagination.totalPages} onPage=${setPage}>
        ${
          value.total > Number(PAGE_SIZES[0]) &&
          html`<${Choice} label="Rows" value=${limit} onInput=${resize} options=${PAGE_SIZES.map(size => [size, size])} />`
        }
      </${Pager}>`
    }
  </section>`
}

function Filters({ filter, onChange }: { filter: Filter; onChange: (changed: Partial<Filter>) => void }) {
  const search = (event: InputEvent & { currentTarget: HTMLInputElement }): void =>
    onChange({ q: event.currentTarget.value })
  return html`<form class="row filters" role="search" onSubmit=${(event: Event) => event.preventDefault()}>
    <div class="field grow">
      <label for="search">Search</label>
      <input id="search" type="search" value=${filter.q} placeholder="Name or CID" onInput=${search} />
    </div>
    <${Choice} label="State" value=${filter.status} onInput=${(status: string) => onChange({ status })} options=${[
      ['', 'All'],
      ['pinned', 'Pinned'],
      ['queued,pinning', 'On the way'],
      ['failed', 'Failed'],
    ]} />
    <${Choice} label="Kind" value=${filter.type} onInput=${(type: string) => onChange({ type })} options=${[
      ['', 'All'],
      ['file', 'Files'],
      ['directory', 'Folders'],
      ['pin', 'By CID'],
    ]} />
    <${Choice} label="Kept" value=${filter.ends} onInput=${(ends: string) => onChange({ ends })} options=${[
      ['', 'All'],
      ['true', 'With an end'],
    ]} />
    <${Choice} label="Readers" value=${filter.readers} onInput=${(readers: string) => onChange({ readers })} options=${[['', 'All'], ...READER_CHOICES]} />
    <${Choice} label="Order" value=${filter.sort} onInput=${(sort: string) => onChange({ sort })} options=${[
      ['newest', 'Newest first'],
      ['oldest', 'Oldest first'],
      ['name', 'By name'],
      ['-name', 'By name, backwards'],
      ['-size', 'Largest first'],
      ['size', 'Smallest first'],
    ]} />
  </form>`
}

/** Placeholder of the rows until the first page has arrived. */
function Skeleton() {
  return html`<div class="skeleton" role="status"><span class="unseen">Loading…</span>${[1, 2, 3, 4].map(() => html`<span></span>`)}</div>`
}

interface RowsProps {
  rows: readonly ListedUpload[]
  boxes: RowBoxes
  isFiltered: boolean
  sort: string
  onSort: (sort: string) => void
  onChanged: () => void
}

function Rows({ rows, boxes, isFiltered, sort, onSort, onChanged }: RowsProps) {
  const now = useNow()
  if (rows.length === 0) {
    return html`<p class="empty">${isFiltered ? 'No pins match these filters.' : 'No pins yet. Drop a file on this page.'}</p>`
  }
  return html`<table class="pins">
    <thead>
      <tr>
        ${boxes.all(rows)}
        <${SortHead} title="Name" orders=${['name', '-name']} sort=${sort} onSort=${onSort} />
        <th scope="col" class="state">State</th>
        <${SortHead} title="Size" orders=${['-size', 'size']} sort=${sort} onSort=${onSort} kind="number" />
        <${SortHead} title="Added" orders=${['newest', 'oldest']} sort=${sort} onSort=${onSort} kind="optional" />
        <th scope="col" class="actions"><span class="unseen">Actions</span></th>
      </tr>
    </thead>
    <tbody>
      ${rows.map(row => html`<${Row} key=${row.uploadId} row=${row} now=${now} boxes=${boxes} onChanged=${onChanged} />`)}
    </tbody>
  </table>`
}

interface RowProps {
  row: ListedUpload
  now: number
  boxes: RowBoxes
  onChanged: () => void
}

function Row({ row, now, boxes, onChanged }: RowProps) {
  const { cid, clusterId, name, size, status, type, visibility, createdAt, expiresAt } = row
  const kind = type === 'directory' ? 'Folder' : type === 'pin' ? 'By CID' : 'File'
  return html`<tr>
    ${boxes.one(row)}
    <td class="name">
      <a href=${routeTo(['pin', cid], { cluster: clusterId })}>${name === cid ? shortCid(cid) : shownText(name)}</a>
      <span class="under">${kind} · <code>${shortCid(cid)}</code>${
        expiresAt !== null && html` · <span title=${formatInstant(expiresAt)}>ends ${formatAge(expiresAt, now)}</span>`
      }${visibility === 'private' && html` <${PrivateBadge} />`}</span>
    </td>
    <td class="state"><${StateBadge} state=${status} /></td>
    <td class="number">${shownBytes(size)}</td>
    <td class="age optional" title=${formatInstant(createdAt)}>${formatAge(createdAt, now)}</td>
    <td class="actions"><${RowMenu} row=${row} onChanged=${onChanged} /></td>
  </tr>`
}

/** Returns the filter. A changed search text takes effect only after a pause in typing. */
function usePaused(filter: Filter): Filter {
  const [paused, setPaused] = useState(filter)
  useEffect(() => {
    if (filter.q === paused.q) return setPaused(filter)
    const timer = setTimeout(() => setPaused(filter), TYPING_MS)
    return () => clearTimeout(timer)
  }, [filter])
  return paused
}

function isNarrow({ q, status, type, ends, readers }: Filter): boolean {
  return [q, status, type, ends, readers].some(value => value !== '')
}

function optionsOf({ q, status, type, ends, readers, sort }: Filter): ListOptions {
  const wanted = q.trim()
  return {
    ...(isCid(wanted) ? { cid: wanted } : { q: wanted || undefined }),
    status: status === '' ? undefined : (status.split(',') as PinState[]),
    type: type === '' ? undefined : (type as Upload['type']),
    expiring: ends === 'true',
    visibility: (readers || undefined) as ListOptions['visibility'],
    sort: sort as ListOptions['sort'],
  }
}

/** Returns whether a text has the form of a CID. The list is then filtered by CID instead of by name. */
function isCid(text: string): boolean {
  return /^(Qm[1-9A-HJ-NP-Za-km-z]{44}|b[a-z2-7]{50,})$/.test(text)
}
