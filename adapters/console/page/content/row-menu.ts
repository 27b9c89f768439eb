import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { visibleText } from '../../../../src/domain/byte-text.ts'
import type { ListedUpload } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { contentUrl, useSession } from '../session.ts'
import { copyText } from '../widgets/copy-button.ts'
import { contentAt } from './gateway-content.ts'
import { DeleteDialog, RenameDialog, VisibilityDialog } from './pin-actions.ts'
import { PreviewDialog } from './preview.ts'

type Asked = 'preview' | 'rename' | 'readers' | 'delete'

/** Texts of a content that the menu copies: label, and text. The URL is null if no gateway serves the content. */
function copies(cid: string, url: string | null): ReadonlyArray<readonly [what: string, text: string]> {
  return [
    ...(url === null ? [] : [['link', url] as const]),
    ['CID', cid],
    ['IPFS address', `ipfs://${cid}`],
    ['ipfs command', `ipfs get ${cid}`],
  ]
}

/** Menu of one row of the list. Its contents are drawn only while it is open, because a list may have 1,000 rows. */
export function RowMenu({ row, onChanged }: { row: ListedUpload; onChanged: () => void }) {
  const session = useSession()
  const [isOpen, setOpen] = useState(false)
  const [asked, setAsked] = useState<Asked | null>(null)
  const id = useId()
  const opener = useRef<HTMLButtonElement>(null)
  const menu = useRef<HTMLDivElement>(null)
  const { cid, clusterId, name, status, visibility } = row
  const url = visibility === 'private' ? null : contentUrl(session, cid, clusterId)
  useLayoutEffect(() => {
    const [shown, below] = [menu.current, opener.current]
    if (!isOpen || shown === null || below === null) return
    const align = (): void => place(shown, below)
    align()
    shown.querySelector<HTMLElement>('a, button')?.focus()
    addEventListener('resize', align)
    return () => removeEventListener('resize', align)
  }, [isOpen])
  const act = (run: () => void) => (): void => {
    menu.current?.hidePopover()
    run()
  }
  const button = (words: string, run: () => void, tone = '') =>
    html`<button class=${`plain ${tone}`} onClick=${act(run)}>${words}</button>`
  const { gateway } = session
  const isServed = status === 'pinned' && url !== null
  const hasPreview = gateway !== null && isServed
  const close = (): void => setAsked(null)
  const done = (): void => {
    close()
    onChanged()
  }
  return html`<div class="row-menu">
    <button ref=${opener} class="plain small" popovertarget=${id} aria-label=${`Actions for ${visibleText(name)}`}>⋯</button>
    <div ref=${menu} id=${id} class="menu" popover="auto"
      onToggle=${({ newState }: ToggleEvent) => setOpen(newState === 'open')}>
      ${
        isOpen &&
        html`<div>
          ${hasPreview && button('Preview', () => setAsked('preview'))}
          ${isServed && html`<a class="button plain" href=${url} target="_blank" rel="noopener">Open</a>`}
          ${copies(cid, url).map(([what, text]) => button(`Copy ${what}`, () => void copyText(text, what)))}
          ${button('Rename', () => setAsked('rename'))}
          ${button(`Make ${visibility === 'private' ? 'public' : 'private'}…`, () => setAsked('readers'))} ${button('Delete', () => setAsked('delete'), 'danger')}
        </div>`
      }
    </div>
    ${
      asked === 'preview' &&
      gateway !== null &&
      html`<${PreviewDialog} name=${name} onClose=${close}
        url=${contentAt(gateway, cid, [], name === cid ? {} : { filename: name })} />`
    }
    ${asked === 'rename' && html`<${RenameDialog} pin=${row} onClose=${close} onDone=${done} />`}
    ${asked === 'readers' && html`<${VisibilityDialog} pin=${row} onClose=${close} onDone=${done} />`}
    ${asked === 'delete' && html`<${DeleteDialog} pin=${row} cluster=${clusterId} onClose=${close} onDone=${done} />`}
  </div>`
}

/** Puts the menu below its button, or above if there is more room. */
function place(menu: HTMLElement, opener: HTMLElement): void {
  const at = opener.getBoundingClientRect()
  const { width, height } = menu.getBoundingClientRect()
  const isBelow = at.bottom + height < innerHeight || at.top < height
  menu.style.top = `${scrollY + (isBelow ? at.bottom : at.top - height)}px`
  menu.style.left = `${Math.max(8, scrollX + at.right - width)}px`
}
