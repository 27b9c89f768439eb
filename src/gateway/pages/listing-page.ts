import { isFileName, shownText, visibleText } from '../../domain/byte-text.ts'
import type { ContentPath } from '../http/content-path.ts'
import type { Listing, ListingEntry } from '../source/directory-listing.ts'
import { escapeHtml, hrefOf, htmlPage } from './html.ts'

/** Builds a page with relative links, because the gateway may be mounted below a path prefix. */
export function listingPage(path: ContentPath, listing: Listing, after: string | null): string {
  const { names, root } = path
  const title = visibleText(names.at(-1) ?? root)
  const columns = COLUMNS.filter(({ textOf }) => listing.entries.some(entry => textOf(entry) !== ''))
  const heads = columns.map(({ title }) => `<th class="size">${title}</th>`).join('')
  const cells = (entry: ListingEntry): string =>
    columns.map(({ textOf }) => `<td class="size">${textOf(entry)}</td>`).join('')
  const up =
    names.length === 0
      ? ''
      : `<tr><td>${icon('up')}<a href="../">../</a></td><td></td>${columns.map(() => '<td></td>').join('')}<td></td></tr>`
  const empty = listing.entries.length === 0 && after === null ? '<p>This folder is empty.</p>' : ''
  return htmlPage(
    title,
    `<h1>${breadcrumb(path)}</h1><p><code>/ipfs/${escapeHtml(visibleText([root, ...names].join('/')))}</code></p>
<table><thead><tr><th>Name</th><th class="size">Size</th>${heads}<th>CID</th></tr></thead>
<tbody>${up}${listing.entries.map(entry => row(entry, path.linkBase, cells(entry))).join('\n')}</tbody></table>${empty}${pager(listing, after)}`,
  )
}

function breadcrumb({ names, root }: ContentPath): string {
  return [root, ...names]
    .map((name, depth) => {
      const text = depth === 0 ? `<code>${escapeHtml(shorten(name))}</code>` : escapeHtml(visibleText(name))
      const above = names.length - depth
      return above === 0 ? `<span>${text}</span>` : `<a href="${'../'.repeat(above)}">${text}</a>`
    })
    .join(' / ')
}

/** Columns that a page has only if one of its entries stores the attribute. */
const COLUMNS: ReadonlyArray<{ title: string; textOf: (entry: ListingEntry) => string }> = [
  { title: 'Mode', textOf: ({ mode }) => (mode === undefined ? '' : modeText(mode)) },
  {
    title: 'Modified (UTC)',
    textOf: ({ mtime }) => (mtime === undefined ? '' : new Date(mtime).toISOString().slice(0, 19).replace('T', ' ')),
  },
]

/** Formats permissions in octal, such as `0644`. */
export function modeText(mode: number): string {
  return mode.toString(8).padStart(4, '0')
}

/** @param attributes cells of further columns */
function row({ name, cid, type, size }: ListingEntry, linkBase: string, attributes: string): string {
  const folder = type === 'directory' ? '/' : ''
  const text = `${escapeHtml(visibleText(name))}${folder}`
  const isPath = isFileName(name)
  const content = `${linkBase}${cid}${isPath ? `?filename=${encodeURIComponent(shownText(name))}` : ''}`
  return (
    `<tr><td>${icon(type)}${isPath ? `<a href="${hrefOf(name)}${folder}">${text}</a>` : text}</td>` +
    `<td class="size">${formatBytes(size)}</td>${attributes}` +
    `<td class="cid"><a href="${content}" title="${cid}">${shorten(cid.toString())}</a></td></tr>`
  )
}

const SHAPES = {
  up: 'M8 13V4M4 8l4-4 4 4',
  directory: 'M1.5 3.5h4l1.5 2h7.5v7.5h-13z',
  file: 'M3.5 1.5h6l3 3v10h-9zM9.5 1.5v3h3',
  symlink: 'M3 12.5c0-5 3-6.5 8-6.5M8 2.5l4 3.5-4 3.5',
  other: 'M8 1.5l6 3.5v6l-6 3.5-6-3.5v-6zM2 5l6 3.5 6-3.5M8 8.5v6',
} as const

/** Returns an SVG icon. Emoji are no option, because some systems have no emoji font. */
function icon(shape: keyof typeof SHAPES): string {
  return `<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="${SHAPES[shape]}"/></svg>`
}

function pager({ next }: Listing, after: string | null): string {
  const first = after === null ? '' : '<a href="./">First page</a>'
  const more = next === null ? '' : `<a href="?after=${encodeURIComponent(next)}" rel="next">Next page</a>`
  return first === '' && more === '' ? '' : `<nav>${first}${more}</nav>`
}

function shorten(cid: string): string {
  return cid.length <= 16 ? cid : `${cid.slice(0, 6)}…${cid.slice(-6)}`
}

function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1)
  const value = bytes / 1024 ** power
  return `${power === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[power]}`
}
