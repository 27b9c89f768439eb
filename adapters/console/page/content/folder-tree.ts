import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { visibleText } from '../../../../src/domain/byte-text.ts'
import { html } from '../markup.ts'
import { Card } from '../widgets/card.ts'
import { FieldProblem } from '../widgets/field.ts'
import { shownBytes } from '../widgets/shown-values.ts'
import { useLoad } from '../widgets/use-load.ts'
import { contentAt, type FolderEntry, folderPage } from './gateway-content.ts'
import { PreviewDialog } from './preview.ts'

/** Path of a folder: its root CID, then names. */
type FolderPath = readonly [cid: string, ...names: string[]]

/** Shows a folder as a tree. Loads a folder when the user expands it, in the gateway's pages. */
export function FolderTree({ gateway, cid }: { gateway: string; cid: string }) {
  const [shown, setShown] = useState<readonly string[] | null>(null)
  const common = { gateway, onPreview: setShown }
  return html`<${Card} title="Files">
    <ul class="tree"><${Entries} ...${common} path=${[cid]} after=${null} /></ul>
    ${
      shown !== null &&
      html`<${PreviewDialog} url=${contentAt(gateway, cid, shown)} name=${shown.at(-1)} onClose=${() => setShown(null)} />`
    }
  </${Card}>`
}

interface FolderProps {
  gateway: string
  path: FolderPath
  /** @param names path of the file below the root */
  onPreview: (names: readonly string[]) => void
}

/** Lists the entries of one page of a folder, and on request those of the next page. */
function Entries({ after, ...folder }: FolderProps & { after: string | null }) {
  const { gateway, path } = folder
  const [isMore, setMore] = useState(false)
  const first = useRef<HTMLElement>(null)
  const { value, error } = useLoad(signal => folderPage(gateway, path, { after, signal }), [gateway, ...path, after])
  useLayoutEffect(() => {
    // The button "Show more" had the focus, and is gone.
    if (after !== null && value !== undefined) first.current?.querySelector<HTMLElement>('a, button')?.focus()
  }, [value])
  if (value === undefined) {
    return html`<li>${error === null ? html`<span class="quiet" role="status">Loading…</span>` : html`<${FieldProblem} text=${error} />`}</li>`
  }
  const { entries, next } = value
  const row = (entry: FolderEntry, at: number) =>
    html`<li key=${entry.name} ref=${at === 0 ? first : undefined}><${Entry} ...${folder} entry=${entry} /></li>`
  return [
    ...(entries.length === 0 ? [html`<li class="quiet">This folder is empty.</li>`] : entries.map(row)),
    next !== null &&
      (isMore
        ? html`<${Entries} key="more" ...${folder} after=${next} />`
        : html`<li key="more"><button class="small" onClick=${() => setMore(true)}>Show more</button></li>`),
  ]
}

function Entry({ gateway, path, onPreview, entry }: FolderProps & { entry: FolderEntry }) {
  const { name, type, size } = entry
  const [isOpen, setOpen] = useState(false)
  const [cid, ...names] = path
  const inside = [...names, name]
  const shown = visibleText(name)
  const label =
    type === 'directory'
      ? html`<button class="plain folder" aria-expanded=${isOpen ? 'true' : 'false'} onClick=${() => setOpen(!isOpen)}>${shown}</button>`
      : html`<a class="name" href=${contentAt(gateway, cid, inside)} target="_blank" rel="noopener">${shown}</a>`
  return html`<div>
    <div class="row entry">
      ${label}
      ${
        type === 'file' &&
        html`<button class="small" aria-label=${`Preview ${shown}`} onClick=${() => onPreview(inside)}>Preview</button>`
      }
      <span class="number">${shownBytes(size)}</span>
    </div>
    ${isOpen && html`<ul class="tree"><${Entries} gateway=${gateway} path=${[cid, ...inside]} onPreview=${onPreview} after=${null} /></ul>`}
  </div>`
}
