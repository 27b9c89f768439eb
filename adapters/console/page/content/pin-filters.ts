import { useEffect, useState } from 'preact/hooks'
import type { ListOptions, PinState, Upload } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { Choice } from '../widgets/field.ts'
import { READER_CHOICES } from './target-fields.ts'

/** An empty value means no filter. */
export interface PinFilter {
  q: string
  status: string
  type: string
  ends: string
  readers: string
  sort: string
}

export const EVERY_PIN: PinFilter = { q: '', status: '', type: '', ends: '', readers: '', sort: 'newest' }
/** Pause in typing after which the search starts. */
const TYPING_MS = 250

interface FiltersProps {
  filter: PinFilter
  onChange: (changed: Partial<PinFilter>) => void
}

/** The search and all filters, in one line. On a phone, the filters are in a line of their own, which scrolls. */
export function PinFilters({ filter, onChange }: FiltersProps) {
  const search = (event: InputEvent & { currentTarget: HTMLInputElement }): void =>
    onChange({ q: event.currentTarget.value })
  return html`<form class="filters" role="search" onSubmit=${(event: Event) => event.preventDefault()}>
    <div class="field grow">
      <label for="search">Search</label>
      <input id="search" type="search" value=${filter.q} placeholder="Name or CID" onInput=${search} />
    </div>
    <div class="choosing">
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
        ['newest', 'Newest'],
        ['oldest', 'Oldest'],
        ['name', 'Name'],
        ['-name', 'Name, backwards'],
        ['-size', 'Largest'],
        ['size', 'Smallest'],
      ]} />
    </div>
  </form>`
}

/** Returns the filter. A changed search text takes effect only after a pause in typing. */
export function usePaused(filter: PinFilter): PinFilter {
  const [paused, setPaused] = useState(filter)
  useEffect(() => {
    if (filter.q === paused.q) return setPaused(filter)
    const timer = setTimeout(() => setPaused(filter), TYPING_MS)
    return () => clearTimeout(timer)
  }, [filter])
  return paused
}

export function isNarrow({ q, status, type, ends, readers }: PinFilter): boolean {
  return [q, status, type, ends, readers].some(value => value !== '')
}

export function listOptionsOf({ q, status, type, ends, readers, sort }: PinFilter): ListOptions {
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
