import { useState } from 'preact/hooks'
import { visibleText } from '../../../../src/domain/byte-text.ts'
import type { ListedUpload } from '../../../client/index.ts'
import { html, type WithChildren } from '../markup.ts'
import { routeTo } from '../page-route.ts'
import { contentUrl, useSession } from '../session.ts'
import { PrivateBadge, StateBadge } from '../widgets/badge.ts'
import { lazily } from '../widgets/lazily.ts'
import { formatAge, formatInstant, shortCid, shownBytes } from '../widgets/shown-values.ts'
import { useNow } from '../widgets/use-now.ts'
import { RowMenu } from './row-menu.ts'
import { SortHead } from './sort-head.ts'
import { TypeIcon } from './type-icon.ts'

const PinFiles = lazily(() => import('./pin-files.ts').then(({ PinFiles }) => PinFiles))

/** Cells that features put before the names of the rows. */
export interface RowBoxes {
  all: (rows: readonly ListedUpload[]) => unknown
  one: (row: ListedUpload) => unknown
}

export const NO_BOXES: RowBoxes = { all: () => null, one: () => null }

/** Placeholder of the rows until the first page has arrived. */
export function RowSkeleton() {
  return html`<div class="skeleton" role="status"><span class="unseen">Loading…</span>${[1, 2, 3, 4].map(() => html`<span></span>`)}</div>`
}

interface RowsProps {
  rows: readonly ListedUpload[]
  boxes: RowBoxes
  /** False for the pins of another account, which have no page and no menu. */
  isOwn: boolean
  isFiltered: boolean
  sort: string
  onSort: (sort: string) => void
  onChanged: () => void
}

export function PinRows({ rows, boxes, isOwn, isFiltered, sort, onSort, onChanged }: RowsProps) {
  const now = useNow()
  // One folder at a time is open.
  const [opened, setOpened] = useState<string | null>(null)
  if (rows.length === 0) {
    const hint = isOwn ? ' Drop a file on this page.' : ''
    return html`<p class="empty">${isFiltered ? 'No pins match these filters.' : `No pins yet.${hint}`}</p>`
  }
  const toggle = (id: string): void => setOpened(opened === id ? null : id)
  return html`<table class=${isOwn ? 'pins' : 'pins others'}>
    <thead>
      <tr>
        ${boxes.all(rows)}
        <${SortHead} title="Name" orders=${['name', '-name']} sort=${sort} onSort=${onSort} />
        <th scope="col" class="state">State</th>
        <${SortHead} title="Size" orders=${['-size', 'size']} sort=${sort} onSort=${onSort} kind="number" />
        <${SortHead} title="Added" orders=${['newest', 'oldest']} sort=${sort} onSort=${onSort} kind="optional" />
        ${isOwn && html`<th scope="col" class="actions"><span class="unseen">Actions</span></th>`}
      </tr>
    </thead>
    <tbody>
      ${rows.map(row => {
        const isOpen = opened === row.uploadId
        const common = { row, now, boxes, isOwn, isOpen, onChanged, onToggle: () => toggle(row.uploadId) }
        return [
          html`<${Row} key=${row.uploadId} ...${common} />`,
          isOpen &&
            html`<tr key=${`in ${row.uploadId}`} class="inside"><td colspan="6"><${Inside} row=${row} /></td></tr>`,
        ]
      })}
    </tbody>
  </table>`
}

interface RowProps extends Pick<RowsProps, 'boxes' | 'isOwn' | 'onChanged'> {
  row: ListedUpload
  now: number
  /** True while the files of the folder are shown. */
  isOpen: boolean
  onToggle: () => void
}

function Row({ row, now, boxes, isOwn, isOpen, onChanged, onToggle }: RowProps) {
  const { cid, clusterId, name, size, status, type, visibility, createdAt, expiresAt } = row
  const kind = type === 'directory' ? 'Folder' : type === 'pin' ? 'By CID' : 'File'
  const words = name === cid ? shortCid(cid) : visibleText(name)
  return html`<tr>
    ${boxes.one(row)}
    <td class="name">
      <${TypeIcon} type=${type} name=${name} />
      ${isOwn ? html`<a href=${routeTo(['pin', cid], { cluster: clusterId })}>${words}</a>` : html`<${OthersName} row=${row}>${words}</${OthersName}>`}
      <span class="under">${kind} · <code>${shortCid(cid)}</code>${
        expiresAt !== null && html` · <span title=${formatInstant(expiresAt)}>ends ${formatAge(expiresAt, now)}</span>`
      }${visibility === 'private' && html` <${PrivateBadge} />`}
      ${
        isOwn &&
        type === 'directory' &&
        html` <button class="plain small folder" aria-expanded=${isOpen ? 'true' : 'false'}
          aria-label=${`Files of ${visibleText(name)}`} onClick=${onToggle}>Files</button>`
      }</span>
    </td>
    <td class="state"><${StateBadge} state=${status} /></td>
    <td class="number">${shownBytes(size)}</td>
    <td class="age optional" title=${formatInstant(createdAt)}>${formatAge(createdAt, now)}</td>
    ${isOwn && html`<td class="actions"><${RowMenu} row=${row} onChanged=${onChanged} /></td>`}
  </tr>`
}

/** Name of a pin of another account. It links to the content if the gateway serves it. */
function OthersName({ row, children }: WithChildren & { row: ListedUpload }) {
  const session = useSession()
  const { cid, clusterId, status, visibility } = row
  if (status !== 'pinned' || visibility === 'private') return html`<strong>${children}</strong>`
  return html`<a href=${contentUrl(session, cid, clusterId)} target="_blank" rel="noopener">${children}</a>`
}

/** The files of a folder of the list. Files of a private folder are shown by its own page. */
function Inside({ row: { cid, clusterId, visibility } }: { row: ListedUpload }) {
  const session = useSession()
  const open = (): void => {
    location.hash = routeTo(['pin', cid], { cluster: clusterId })
  }
  const url = visibility === 'private' ? null : contentUrl(session, cid, clusterId)
  return html`<${PinFiles} cid=${cid} url=${url} onFile=${open} />`
}
